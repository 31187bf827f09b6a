//! Small texts that commands print: `key = value`, addresses, disks.

use std::net::IpAddr;

use super::HostText;

/// The number in a text of the form `fs.aio-nr = 65536`, or a bare number.
#[must_use]
pub fn sysctl(text: &HostText) -> Option<i64> {
    let line = text.text.lines().find(|line| !line.trim().is_empty())?;
    line.rsplit_once('=')
        .map_or(line, |(_, value)| value)
        .trim()
        .parse()
        .ok()
}

/// Addresses that `ip addr` or `ifconfig` shows, in order.
#[must_use]
pub fn addresses(text: &HostText) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for line in text.text.lines() {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            if word != "inet" && word != "inet6" {
                continue;
            }
            let address = words.next().unwrap_or_default().trim_start_matches("addr:");
            let address = address.split(['/', '%']).next().unwrap_or_default();
            if let Ok(address) = address.parse() {
                found.push(address);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_addresses_are_read() {
        let text = |text: &str| HostText {
            text: text.to_owned(),
            ..HostText::default()
        };
        assert_eq!(sysctl(&text("fs.aio-nr = 65536\n")), Some(65_536));
        assert_eq!(sysctl(&text("\n1048576")), Some(1_048_576));
        assert_eq!(sysctl(&text("")), None);
        let shown =
            "2: eth0: <UP>\n    inet 10.0.0.9/24 brd 10.0.0.255\n    inet6 fe80::1%eth0/64\n";
        let expected: Vec<IpAddr> = vec!["10.0.0.9".parse().unwrap(), "fe80::1".parse().unwrap()];
        assert_eq!(addresses(&text(shown)), expected);
    }
}
