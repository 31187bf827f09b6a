//! YAML as the tools of Kubernetes write it, to JSON in one pass: block mappings and sequences, plain
//! and quoted scalars, literals.
//!
//! Invariant: what it gives is what the library gives for the same text. Whatever is not certainly
//! plain (anchors, tags, comments, flow style, folding, letters beyond ASCII, doubtful numbers) is
//! refused with `None`, and the library reads it. A dump of YAML is read an order of magnitude faster.

use crate::limits::{OBJECT_DEPTH_MAX, YAML_NODES_MAX};

/// Mappings with more keys are left to the library, because each key is compared with all before.
const KEYS_MAX: usize = 128;

/// The library takes keys of at most 1,024 characters, as the specification says (YAML 1.2.2, 7.4.2).
const KEY_BYTES_MAX: usize = 1000;

/// One document as JSON; `None` where the library must read it.
pub(super) fn to_json(text: &str) -> Option<Vec<u8>> {
    let is_plain = |byte: u8| byte == b'\n' || (b' '..=b'~').contains(&byte);
    if !text.bytes().all(is_plain) {
        return None;
    }
    let lines = text.split('\n').map(Line::of).collect();
    let mut parser = Parser {
        lines,
        at: 0,
        json: Vec::with_capacity(text.len()),
        depth: 0,
        n_nodes: 0,
    };
    parser.skip_blank();
    let indent = parser.line()?.indent;
    parser.block(indent)?;
    parser.skip_blank();
    (parser.at == parser.lines.len()).then_some(parser.json)
}

/// A line without its indentation and the blanks at its end.
#[derive(Clone, Copy)]
struct Line<'a> {
    indent: usize,
    body: &'a str,
    /// The whole line, for literals.
    whole: &'a str,
}

impl<'a> Line<'a> {
    fn of(whole: &'a str) -> Self {
        let body = whole.trim_start_matches(' ');
        Self {
            indent: whole.len() - body.len(),
            body: body.trim_end_matches(' '),
            whole,
        }
    }

    fn is_item(&self) -> bool {
        self.body == "-" || self.body.starts_with("- ")
    }
}

struct Parser<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
    json: Vec<u8>,
    depth: usize,
    n_nodes: usize,
}

impl<'a> Parser<'a> {
    fn line(&self) -> Option<Line<'a>> {
        self.lines.get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while self.line().is_some_and(|line| line.body.is_empty()) {
            self.at += 1;
        }
    }

    /// The next line that is not blank, where it belongs to a block of at least this indentation.
    fn next_within(&mut self, indent_min: usize) -> Option<Line<'a>> {
        self.skip_blank();
        self.line().filter(|line| line.indent >= indent_min)
    }

    fn node(&mut self) -> Option<()> {
        self.n_nodes += 1;
        (self.n_nodes < YAML_NODES_MAX / 2).then_some(())
    }

    /// A mapping or sequence whose lines have exactly this indentation.
    fn block(&mut self, indent: usize) -> Option<()> {
        self.node()?;
        self.depth += 1;
        if self.depth > OBJECT_DEPTH_MAX / 2 {
            return None;
        }
        if self.line()?.is_item() {
            self.sequence(indent)?;
        } else {
            self.mapping(indent)?;
        }
        self.depth -= 1;
        Some(())
    }

    fn sequence(&mut self, indent: usize) -> Option<()> {
        self.json.push(b'[');
        let mut is_first = true;
        while let Some(line) = self.next_within(indent) {
            if line.indent > indent {
                return None;
            }
            if !line.is_item() {
                break; // the next key of the mapping that holds this sequence
            }
            if !std::mem::take(&mut is_first) {
                self.json.push(b',');
            }
            let rest = line.body[1..].trim_start_matches(' ');
            let inner = indent + line.body.len() - rest.len();
            if rest.is_empty() {
                self.at += 1;
                self.nested(indent + 1)?;
            } else if rest == "-" || rest.starts_with("- ") || key(rest).is_some() {
                // The item's first line is a line of its block, further in.
                self.lines[self.at] = Line {
                    indent: inner,
                    body: rest,
                    whole: line.whole,
                };
                self.block(inner)?;
            } else {
                self.at += 1;
                self.scalar(rest, indent + 1)?;
            }
        }
        self.json.push(b']');
        Some(())
    }

    fn mapping(&mut self, indent: usize) -> Option<()> {
        self.json.push(b'{');
        let mut keys: Vec<&str> = Vec::new();
        while let Some(line) = self.next_within(indent) {
            if line.indent > indent || line.is_item() {
                return None;
            }
            let (key, rest) = key(line.body)?;
            if keys.contains(&key) || keys.len() >= KEYS_MAX {
                return None;
            }
            if !keys.is_empty() {
                self.json.push(b',');
            }
            keys.push(key);
            self.node()?;
            self.string(key);
            self.json.push(b':');
            self.at += 1;
            if !rest.is_empty() {
                self.scalar(rest, indent + 1)?;
            } else if self.next_within(indent).is_some_and(|line| line.is_item()) {
                // A sequence may stand as far out as the key that it belongs to.
                let inner = self.line()?.indent;
                self.block(inner)?;
            } else {
                self.nested(indent + 1)?;
            }
        }
        self.json.push(b'}');
        Some(())
    }

    /// A block further in, or nothing at all, which is null.
    fn nested(&mut self, indent_min: usize) -> Option<()> {
        match self.next_within(indent_min) {
            Some(line) if line.is_item() || key(line.body).is_some() => self.block(line.indent),
            Some(_) => None,
            None => {
                self.node()?;
                self.json.extend(b"null");
                Some(())
            }
        }
    }

    /// A scalar that begins with `first` behind its key or dash; further lines have this indentation.
    fn scalar(&mut self, first: &'a str, indent_min: usize) -> Option<()> {
        self.node()?;
        match first.as_bytes()[0] {
            b'{' | b'[' if first == "{}" || first == "[]" => {
                self.json.extend(first.as_bytes());
                self.is_over(indent_min)
            }
            b'|' => self.literal(first, indent_min),
            b'\'' => self.single_quoted(first, indent_min),
            b'"' => self.double_quoted(first, indent_min),
            b'&' | b'*' | b'!' | b'%' | b'@' | b'`' | b'{' | b'[' | b'}' | b']' | b',' | b'#'
            | b'?' | b'>' | b':' => None,
            b'-' if first == "-" || first.starts_with("- ") => None,
            _ => self.plain(first, indent_min),
        }
    }

    /// That no line follows which the value would have to take in.
    fn is_over(&mut self, indent_min: usize) -> Option<()> {
        self.next_within(indent_min).is_none().then_some(())
    }

    fn plain(&mut self, first: &'a str, indent_min: usize) -> Option<()> {
        let is_plain =
            |text: &str| !text.contains(": ") && !text.ends_with(':') && !text.contains(" #");
        if !is_plain(first) {
            return None;
        }
        let mut whole = std::borrow::Cow::Borrowed(first);
        while let Some(line) = self.line().filter(|line| line.indent >= indent_min) {
            // A blank line would be a line break in the text, and a dash or a sign may be no text.
            let is_text = line
                .body
                .starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
            if !is_text || !is_plain(line.body) {
                return None;
            }
            whole.to_mut().push(' ');
            whole.to_mut().push_str(line.body);
            self.at += 1;
        }
        self.is_over(indent_min)?;
        match meaning(&whole)? {
            Meaning::AsWritten => self.json.extend(whole.as_bytes()),
            Meaning::Null => self.json.extend(b"null"),
            Meaning::Text => self.string(&whole),
        }
        Some(())
    }

    fn single_quoted(&mut self, first: &'a str, indent_min: usize) -> Option<()> {
        let mut text = String::new();
        let mut rest = &first[1..];
        loop {
            let Some(at) = rest.find('\'') else {
                text += rest;
                rest = self.folded(indent_min)?;
                text.push(' ');
                continue;
            };
            text += &rest[..at];
            rest = &rest[at + 1..];
            let Some(behind) = rest.strip_prefix('\'') else {
                break;
            };
            text.push('\'');
            rest = behind;
        }
        if !rest.is_empty() {
            return None;
        }
        self.string(&text);
        self.is_over(indent_min)
    }

    /// Escapes that JSON has too are copied; those of YAML alone are left to the library.
    fn double_quoted(&mut self, first: &'a str, indent_min: usize) -> Option<()> {
        self.json.push(b'"');
        let mut rest = &first[1..];
        loop {
            let Some(at) = rest.find(['"', '\\']) else {
                self.json.extend(rest.as_bytes());
                rest = self.folded(indent_min)?;
                self.json.push(b' ');
                continue;
            };
            self.json.extend(&rest.as_bytes()[..at]);
            let is_end = rest.as_bytes()[at] == b'"';
            rest = &rest[at + 1..];
            if is_end {
                break;
            }
            let escape = *rest.as_bytes().first()?;
            if !b"\"\\/bfnrt".contains(&escape) {
                return None;
            }
            self.json.extend([b'\\', escape]);
            rest = &rest[1..];
        }
        self.json.push(b'"');
        if !rest.is_empty() {
            return None;
        }
        self.is_over(indent_min)
    }

    /// The next line of a quoted text.
    fn folded(&mut self, indent_min: usize) -> Option<&'a str> {
        let line = self.line()?;
        // Blanks before the fold are lost and blanks behind it too, which is what `body` has done.
        let is_blank = line.body.is_empty();
        self.at += 1;
        (!is_blank && line.indent >= indent_min).then_some(line.body)
    }

    fn literal(&mut self, first: &str, indent_min: usize) -> Option<()> {
        let keeps_end = match first {
            "|" => true,
            "|-" => false,
            _ => return None,
        };
        let indent = self.line().filter(|line| !line.body.is_empty())?.indent;
        if indent < indent_min {
            return None;
        }
        let mut text = String::new();
        let mut n_breaks = 0;
        while let Some(line) = self.line() {
            if line.body.is_empty() {
                if line.indent > indent {
                    return None;
                }
                n_breaks += 1;
            } else if line.indent >= indent {
                text.extend(std::iter::repeat_n('\n', n_breaks));
                text += &line.whole[indent..];
                n_breaks = 1;
            } else if line.indent >= indent_min {
                return None;
            } else {
                break;
            }
            self.at += 1;
        }
        if keeps_end {
            text.push('\n');
        }
        self.string(&text);
        Some(())
    }

    /// A text as JSON writes it.
    fn string(&mut self, text: &str) {
        self.json.push(b'"');
        let mut rest = text.as_bytes();
        while let Some(at) = rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\' | b'\n'))
        {
            self.json.extend(&rest[..at]);
            let escape = if rest[at] == b'\n' { b'n' } else { rest[at] };
            self.json.extend([b'\\', escape]);
            rest = &rest[at + 1..];
        }
        self.json.extend(rest);
        self.json.push(b'"');
    }
}

/// The key that a line begins with, and what stands behind it.
fn key(body: &str) -> Option<(&str, &str)> {
    let first = *body.as_bytes().first()?;
    let (key, behind) = if first == b'"' || first == b'\'' {
        let inner = &body[1..];
        let end = inner.find(['"', '\'', '\\'])?;
        if inner.as_bytes()[end] != first || inner[end + 1..].starts_with(char::from(first)) {
            return None;
        }
        (&inner[..end], inner[end + 1..].strip_prefix(':')?)
    } else {
        if !first.is_ascii_alphanumeric() && !b"./_".contains(&first) {
            return None;
        }
        let end = memchr::memchr_iter(b':', body.as_bytes())
            .find(|at| matches!(body.as_bytes().get(at + 1), None | Some(b' ')))?;
        let key = &body[..end];
        if key.contains(" #") || key.ends_with(' ') || meaning(key)? != Meaning::Text {
            return None;
        }
        (key, &body[end + 1..])
    };
    let rest = behind.trim_start_matches(' ');
    if key.len() > KEY_BYTES_MAX {
        return None;
    }
    (behind.is_empty() || rest.len() < behind.len()).then_some((key, rest))
}

/// What a plain scalar means.
#[derive(PartialEq, Eq)]
enum Meaning {
    /// A number or truth value, which JSON writes alike.
    AsWritten,
    Null,
    Text,
}

/// What a plain scalar certainly means.
fn meaning(text: &str) -> Option<Meaning> {
    match text {
        "true" | "false" => return Some(Meaning::AsWritten),
        "null" | "~" => return Some(Meaning::Null),
        "." => return Some(Meaning::Text), // a key of managed fields
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = *unsigned.as_bytes().first()?;
    if first.is_ascii_digit() || first == b'.' {
        let is_numeric = |byte: u8| byte.is_ascii_digit() || b".eE+-_".contains(&byte);
        if unsigned.bytes().all(is_numeric) {
            return number(text, unsigned);
        }
        let second = unsigned.as_bytes().get(1).map(u8::to_ascii_lowercase);
        let has_base = first == b'0' && matches!(second, Some(b'x' | b'o' | b'b'));
        let is_named = first == b'.' && matches!(second, Some(b'i' | b'n'));
        return (!has_base && !is_named).then_some(Meaning::Text);
    }
    const DOUBTFUL: [&str; 12] = [
        "true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "infinity", "nan",
    ];
    let is_doubtful = unsigned.len() <= 8
        && DOUBTFUL
            .iter()
            .any(|word| word.eq_ignore_ascii_case(unsigned));
    (!is_doubtful && first != b'~').then_some(Meaning::Text)
}

/// A number, or digits with points that are none, such as addresses.
fn number(text: &str, unsigned: &str) -> Option<Meaning> {
    let is_digits = unsigned.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits {
        let is_usual = unsigned.len() <= 18
            && !text.starts_with('+')
            && (unsigned == text || unsigned != "0")
            && (unsigned.len() == 1 || !unsigned.starts_with('0'));
        return is_usual.then_some(Meaning::AsWritten);
    }
    let is_address = unsigned
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && unsigned.bytes().filter(|byte| *byte == b'.').count() > 1;
    (is_address && unsigned == text).then_some(Meaning::Text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::library_to_json;
    use super::*;

    fn parsed(json: &[u8]) -> Value {
        serde_json::from_slice(json).expect("what is written is JSON")
    }

    /// What is read quickly must be what the library reads.
    fn agrees(text: &str) -> bool {
        let Some(quick) = to_json(text) else {
            return false;
        };
        let library = library_to_json(text)
            .unwrap_or_else(|error| panic!("the library refuses it: {error}\n{text}"));
        assert_eq!(parsed(&quick), parsed(&library), "{text}");
        true
    }

    #[test]
    fn what_tools_write_is_read_quickly() {
        for text in [
            "a: 1\nb: -5\nc: 1.2.3.4\nd: v1.30.2\ne: true\nf: null\ng: 100m\nh: \"\"\n",
            "a:\n- b: c\n  d:\n    - e\n    - 'f''s'\n- g\n-\n  h: {}\n- - i\n  - []\n",
            "  kind: Pod\n  metadata:\n    f:x: {}\n    k:{\"type\":\"Ready\"}:\n      .: {}\n",
            "m: the node had\n  taints that\n  nobody tolerates\nq: 'a\n  b'\no: \"c\n  d\"\n",
            "s: |\n  a # b\n\n    c\n  'd'\nt: |-\n  x\n\n\nu:\nv: 2026-01-10T08:00:00Z\n",
            "\"on\": x\n'y': \"a\\tb\\\\ \\\"c\\\"\"\nz: -f=/x:/y --v http://z\n",
        ] {
            assert!(agrees(text), "left to the library:\n{text}");
        }
    }

    #[test]
    fn what_is_doubtful_is_left_to_the_library() {
        for text in [
            "a: &x 1\nb: *x\n",
            "a: !!str 1\n",
            "a: b # c\n",
            "a: {b: c}\n",
            "a: >\n  b\n",
            "a: 0x10\n",
            "a: 1e3\n",
            "a: 007\n",
            "a: yes\n",
            "a: .inf\n",
            "a: 1\na: 2\n",
            "a: \"\\x41\"\n",
            "a: \u{e9}\n",
            "a: b: c\n",
            "a\n",
            "",
        ] {
            assert_eq!(to_json(text), None, "{text}");
        }
    }

    /// Pieces of lines that meet each other in all ways.
    fn line() -> impl Strategy<Value = String> {
        let lead = prop_oneof![
            4 => Just(""), 2 => Just("a: "), 2 => Just("b:"), 2 => Just("- "), 1 => Just("-"),
            1 => Just("- - "), 1 => Just("- c: "), 1 => Just("\"d\": "), 1 => Just("'e':"),
            1 => Just("f:g: "), 1 => Just("1: "), 1 => Just("# ")
        ];
        let rest = prop_oneof![
            4 => Just(""), 2 => Just("x"), 1 => Just("1"), 1 => Just("-0"), 1 => Just("1.5"),
            1 => Just("10.0.0.1"), 1 => Just("true"), 1 => Just("~"), 1 => Just("|"), 1 => Just("|-"),
            1 => Just("{}"), 1 => Just("'it''s'"), 1 => Just("'open"), 1 => Just("shut'"),
            1 => Just("\"open"), 1 => Just("shut\""), 1 => Just("\"\\n\""), 1 => Just("x: y"),
            1 => Just("x:"), 1 => Just("x #y"), 1 => Just("--x"), 1 => Just("two  words "),
            1 => Just("k:{\"t\":\"R\"}: "), 1 => Just("+1"), 1 => Just("1_0"), 1 => Just("=")
        ];
        (0..4_usize, lead, rest)
            .prop_map(|(indent, lead, rest)| format!("{}{lead}{rest}", "  ".repeat(indent)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn whatever_is_read_quickly_reads_alike(lines in proptest::collection::vec(line(), 1..9)) {
            agrees(&(lines.join("\n") + "\n"));
        }

        #[test]
        fn scalars_mean_what_the_library_says(text in "[ -~]{0,12}") {
            agrees(&format!("a: {text}\n"));
            agrees(&format!("- {text}\n- b\n"));
            agrees(&format!("{text}: x\n"));
        }

        #[test]
        fn numbers_mean_what_the_library_says(text in "[-+]?[0-9._eExX:a-f]{1,8}") {
            agrees(&format!("a: {text}\n"));
        }
    }
}
