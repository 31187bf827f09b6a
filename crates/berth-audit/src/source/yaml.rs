//! Splits a stream of YAML documents into objects, and reads one object within a budget.
//!
//! The items of a list are told by their indentation: behind a top-level `items:`, a line that has
//! exactly the first item's indentation and a dash begins an item, because YAML indents everything
//! inside an item further. So a list of any length is read item by item.

mod block;

use serde::de::DeserializeOwned;

use super::json::Head;
use super::window::Window;
use crate::dump::text::Text;
use crate::limits::{OBJECT_BYTES_MAX, OBJECT_DEPTH_MAX, YAML_ALIASES_MAX, YAML_NODES_MAX};

/// What comes out of a stream.
pub(super) trait Sink {
    /// An object, and the list that it stands in. `text` is `None` where it is too large.
    fn object(&mut self, text: Option<&str>, head: &Head, list: Option<&Head>, line: u32);
}

/// Reads one document.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_slice(&to_json(text)?).map_err(|error| error.to_string())
}

/// One document as JSON.
///
/// Every kind is then read from JSON only, which halves the code that is made for each of them.
pub(crate) fn to_json(text: &str) -> Result<Vec<u8>, String> {
    block::to_json(text).map_or_else(|| library_to_json(text), Ok)
}

/// One document of any style as JSON.
fn library_to_json(text: &str) -> Result<Vec<u8>, String> {
    let budget = serde_saphyr::budget! {
        max_depth: OBJECT_DEPTH_MAX,
        max_nodes: YAML_NODES_MAX,
        max_events: 2 * YAML_NODES_MAX,
        max_aliases: YAML_ALIASES_MAX,
        max_anchors: YAML_ALIASES_MAX,
    };
    // Kubernetes' own tools take only `true` and `false` for truth values.
    let options =
        serde_saphyr::options! { budget: budget, with_snippet: false, strict_booleans: true };
    let mut json = Vec::with_capacity(text.len());
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |document| {
        serde_transcode::transcode(document, &mut serde_json::Serializer::new(&mut json))
            .map_err(serde::de::Error::custom)
    });
    read.map(|()| json).map_err(|error| error.to_string())
}

/// Reads a stream to its end.
pub(super) fn split(window: &mut Window<'_>, sink: &mut dyn Sink) {
    let mut splitter = Splitter {
        sink,
        text: Vec::new(),
        line: 1,
        list: None,
    };
    loop {
        let number = window.line();
        if !window.keep_line() {
            break;
        }
        match window.kept(0) {
            Some(line) => splitter.line(line, number),
            None => splitter.text.resize(OBJECT_BYTES_MAX + 1, b' '), // the line alone is too large
        }
    }
    splitter.flush();
}

struct Splitter<'a> {
    sink: &'a mut dyn Sink,
    /// The document or item so far.
    text: Vec<u8>,
    /// The line on which it begins.
    line: u32,
    list: Option<List>,
}

/// A list whose items are being read.
struct List {
    head: Head,
    /// Indentation of the items' dashes, once the first is there.
    indent: Option<usize>,
    /// False behind the last item.
    is_open: bool,
}

impl Splitter<'_> {
    fn line(&mut self, line: &[u8], number: u32) {
        if is_marker(line) {
            self.flush();
            self.list = None;
            // A document may begin on the marker's line.
            let rest = line.get(3..).unwrap_or_default();
            if !rest.iter().all(u8::is_ascii_whitespace) && line.starts_with(b"---") {
                self.push(rest, number);
            }
            return;
        }
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let body = &line[indent..];
        let is_blank = body.iter().all(u8::is_ascii_whitespace) || body.starts_with(b"#");
        if let Some(list) = self.list.as_mut().filter(|list| list.is_open) {
            let is_item = body.starts_with(b"- ") || body.trim_ascii_end() == b"-";
            if is_item && list.indent.is_none_or(|known| known == indent) {
                list.indent = Some(indent);
                self.flush();
                let mut item = line.to_vec();
                item[indent] = b' ';
                self.push(&item, number);
            } else if indent == 0 && !is_blank {
                self.flush();
                if let Some(list) = self.list.as_mut() {
                    list.is_open = false;
                }
            } else {
                self.push(line, number);
            }
            return;
        }
        if self.list.is_some() {
            return; // keys behind the items say nothing of use
        }
        let is_items = line
            .strip_prefix(b"items:")
            .is_some_and(|rest| rest.iter().all(u8::is_ascii_whitespace));
        if is_items {
            let head = head_of(&self.text);
            self.text.clear();
            self.list = Some(List {
                head,
                indent: None,
                is_open: true,
            });
        } else if !(is_blank && self.text.is_empty()) {
            self.push(line, number);
        }
    }

    fn push(&mut self, line: &[u8], number: u32) {
        if self.text.is_empty() {
            self.line = number;
        }
        if self.text.len() <= OBJECT_BYTES_MAX {
            self.text.extend_from_slice(line);
        }
    }

    fn flush(&mut self) {
        if self.text.iter().all(u8::is_ascii_whitespace) {
            self.text.clear();
            return;
        }
        let list = self
            .list
            .as_ref()
            .filter(|list| list.is_open)
            .map(|list| &list.head);
        if self.text.len() > OBJECT_BYTES_MAX {
            self.sink
                .object(None, &head_of(&self.text), list, self.line);
        } else {
            let text = String::from_utf8_lossy(&self.text);
            self.sink
                .object(Some(&text), &head_of(&self.text), list, self.line);
        }
        self.text.clear();
    }
}

/// `---` or `...` at the start of a line, alone or before a blank.
fn is_marker(line: &[u8]) -> bool {
    (line.starts_with(b"---") || line.starts_with(b"..."))
        && line.get(3).is_none_or(u8::is_ascii_whitespace)
}

/// `apiVersion` and `kind` on the outermost level of a block mapping.
fn head_of(text: &[u8]) -> Head {
    let mut head = Head::default();
    let mut base = None;
    for line in text.split(|byte| *byte == b'\n') {
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let body = line[indent..].trim_ascii_end();
        if body.is_empty() || body.starts_with(b"#") || *base.get_or_insert(indent) != indent {
            continue;
        }
        let field = match body {
            _ if body.starts_with(b"kind:") => &mut head.kind,
            _ if body.starts_with(b"apiVersion:") => &mut head.api_version,
            _ => continue,
        };
        let value = body.split(|byte| *byte == b':').nth(1).unwrap_or_default();
        let value = String::from_utf8_lossy(value);
        let value = value
            .split(" #")
            .next()
            .unwrap_or_default()
            .trim()
            .trim_matches(['"', '\'']);
        *field = Text::new(value);
        if !head.kind.is_empty() && !head.api_version.is_empty() {
            break;
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl Sink for Log {
        fn object(&mut self, text: Option<&str>, head: &Head, list: Option<&Head>, line: u32) {
            let list = list.map_or(String::new(), |list| format!(" in {}", list.kind));
            self.0.push(format!(
                "{line}: {} {}{list} {:?}",
                head.api_version,
                head.kind,
                text.unwrap_or("lost")
            ));
        }
    }

    fn check(text: &str, expected: &[&str]) {
        let mut log = Log::default();
        split(&mut Window::new(&mut text.as_bytes()), &mut log);
        assert_eq!(log.0, expected);
    }

    #[test]
    fn documents_are_told_apart() {
        check(
            "# c\napiVersion: v1\nkind: A\n---\n---\n# x\nkind: \"B\" # y\napiVersion: apps/v1\ndata: |\n  kind: Z\n...\n",
            &[
                "2: v1 A \"apiVersion: v1\\nkind: A\\n\"",
                "7: apps/v1 B \"kind: \\\"B\\\" # y\\napiVersion: apps/v1\\ndata: |\\n  kind: Z\\n\"",
            ],
        );
    }

    #[test]
    fn items_of_a_list_come_one_by_one() {
        for indent in ["", "  "] {
            let text = format!(
                "apiVersion: v1\nitems:\n{indent}- apiVersion: v1\n{indent}  kind: A\n{indent}  x:\n{indent}  - y\n{indent}- kind: B\nkind: List\nmetadata: {{}}\n"
            );
            let item = |kind: &str, rest: &str| format!("{indent}  {kind}\n{rest}");
            let first = item(
                "apiVersion: v1",
                &format!("{indent}  kind: A\n{indent}  x:\n{indent}  - y\n"),
            );
            let second = item("kind: B", "");
            check(
                &text,
                &[
                    &format!("3: v1 A in  {first:?}"),
                    &format!("7:  B in  {second:?}"),
                ],
            );
        }
    }

    #[test]
    fn anchors_bomb_ends_at_the_budget() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{},", level - 1).repeat(10);
            text += &format!("a{level}: &a{level} [{alias}]\n");
        }
        assert!(read::<serde::de::IgnoredAny>(&text).is_err());
    }
}
