//! Splits a stream of JSON documents into objects, without building them.
//!
//! Documents may follow each other without separators, lists give their items one by one, and
//! anything that is no JSON between documents is handed out line by line. Whether an object is well
//! formed inside, its parser says later.

use super::window::Window;
use crate::dump::text::Text;
use crate::limits::OBJECT_DEPTH_MAX;

/// What an object says of itself at its top level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) api_version: Text,
    pub(super) kind: Text,
}

/// What comes out of a stream.
pub(super) trait Sink {
    /// An object, and the list that it stands in. `bytes` is `None` where it is too large.
    fn object(&mut self, bytes: Option<&[u8]>, head: &Head, list: Option<&Head>, line: u32);
    /// An element of a list at the start of `bytes`, which may end before it does: the quick way, for
    /// objects whose kind is known from the list or stands first.
    fn quick(&mut self, bytes: &[u8], list: &Head, line: u32) -> Quick;
    /// A line that is no JSON; the answer says what to do with the lines behind it.
    fn text(&mut self, line: &str, number: u32) -> AfterText;
    /// The stream ends inside a document.
    fn cut(&mut self, line: u32);
}

/// How to go on behind a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AfterText {
    /// Expect JSON again.
    GoOn,
    /// Skip everything up to and including a line that is equal to this.
    SkipTo(String),
}

/// What the quick way came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quick {
    /// The object was taken; it has this many bytes.
    Took(usize),
    /// It does not end in these bytes.
    Unfinished,
    /// It must be taken the long way.
    No,
}

/// The stream ended, or what follows is no JSON.
enum Broken {
    End,
    Syntax,
}

/// Reads a stream to its end.
pub(super) fn split(window: &mut Window<'_>, sink: &mut dyn Sink) {
    while let Some(byte) = window.skip_blanks() {
        let line = window.line();
        let read = match byte {
            b'{' => object(window, sink, None, line),
            b'[' => {
                window.keep_from_here();
                items(window, sink, &Head::default())
            }
            _ => {
                text(window, sink);
                continue;
            }
        };
        match read {
            Ok(()) => {}
            Err(Broken::End) => {
                sink.cut(line);
                return;
            }
            // The rest of the line is text; behind it a new document may begin.
            Err(Broken::Syntax) => text(window, sink),
        }
    }
}

/// A line of text, and what it asks to skip.
fn text(window: &mut Window<'_>, sink: &mut dyn Sink) {
    let number = window.line();
    if !window.keep_line() {
        return;
    }
    let line = String::from_utf8_lossy(window.kept(0).unwrap_or_default())
        .trim_end()
        .to_owned();
    let AfterText::SkipTo(end) = sink.text(&line, number) else {
        return;
    };
    while window.keep_line() {
        let line = window.kept(0).unwrap_or_default();
        if line.strip_suffix(b"\n").unwrap_or(line) == end.as_bytes() {
            return;
        }
    }
}

/// An object under the cursor. Inside a list (`list` given) it is handed out as it is; at the top its
/// `items` are handed out instead, where it has any.
fn object(
    window: &mut Window<'_>,
    sink: &mut dyn Sink,
    list: Option<&Head>,
    line: u32,
) -> Result<(), Broken> {
    window.keep_from_here();
    window.advance(1);
    let mut head = Head::default();
    let mut is_list = false;
    loop {
        match window.skip_blanks().ok_or(Broken::End)? {
            b'}' => {
                window.advance(1);
                break;
            }
            b',' => window.advance(1),
            b'"' => {
                let key = string(window)?;
                if window.skip_blanks().ok_or(Broken::End)? != b':' {
                    return Err(Broken::Syntax);
                }
                window.advance(1);
                let first = window.skip_blanks().ok_or(Broken::End)?;
                match (key.as_str(), first) {
                    ("items", b'[') if list.is_none() => {
                        is_list = true;
                        items(window, sink, &head)?;
                    }
                    ("kind", b'"') => head.kind = string(window)?,
                    ("apiVersion", b'"') => head.api_version = string(window)?,
                    _ => value(window)?,
                }
                if is_list {
                    window.keep_from_here();
                }
            }
            _ => return Err(Broken::Syntax),
        }
    }
    if !is_list {
        sink.object(window.kept(0), &head, list, line);
    }
    window.keep_from_here();
    Ok(())
}

/// The objects of a list under the cursor.
fn items(window: &mut Window<'_>, sink: &mut dyn Sink, head: &Head) -> Result<(), Broken> {
    window.advance(1);
    loop {
        window.keep_from_here();
        match window.skip_blanks().ok_or(Broken::End)? {
            b']' => {
                window.advance(1);
                return Ok(());
            }
            b',' => window.advance(1),
            b'{' => {
                let line = window.line();
                window.keep_from_here();
                if !quickly(window, sink, head, line) {
                    object(window, sink, Some(head), line)?;
                }
            }
            b'}' | b':' => return Err(Broken::Syntax),
            _ => value(window)?,
        }
    }
}

/// Tries the quick way; true where it took the object.
fn quickly(window: &mut Window<'_>, sink: &mut dyn Sink, list: &Head, line: u32) -> bool {
    loop {
        match sink.quick(window.rest(), list, line) {
            Quick::Took(n_bytes) => {
                window.advance(n_bytes);
                return true;
            }
            Quick::Unfinished if window.grow() => {}
            Quick::Unfinished | Quick::No => return false,
        }
    }
}

/// `apiVersion` and `kind` of the object at the start of `bytes`, where they stand before anything
/// else, as the tools of Kubernetes write them; empty where something else stands first.
pub(super) fn head_at_start(bytes: &[u8]) -> Head {
    let mut head = Head::default();
    let mut rest = bytes.strip_prefix(b"{").unwrap_or(bytes);
    while let Some((key, behind)) = leading_string(rest) {
        let field = match key {
            "kind" => &mut head.kind,
            "apiVersion" => &mut head.api_version,
            _ => break,
        };
        let value = behind
            .trim_ascii_start()
            .strip_prefix(b":")
            .and_then(leading_string);
        let Some((value, behind)) = value else {
            break;
        };
        *field = Text::new(value);
        rest = behind
            .trim_ascii_start()
            .strip_prefix(b",")
            .unwrap_or_default();
    }
    head
}

/// A short string without escapes at the start, behind blanks, and what follows it.
fn leading_string(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let inner = bytes.trim_ascii_start().strip_prefix(b"\"")?;
    let end = inner
        .iter()
        .take(100)
        .position(|byte| *byte == b'"' || *byte == b'\\')?;
    let text = std::str::from_utf8(&inner[..end]).ok()?;
    (inner[end] == b'"').then_some((text, &inner[end + 1..]))
}

/// A short string under the cursor; escapes stay as written, a long one comes out empty.
fn string(window: &mut Window<'_>) -> Result<Text, Broken> {
    let from = window.kept_len();
    skip_string(window)?;
    let text = window
        .kept(from)
        .and_then(|bytes| bytes.get(1..bytes.len() - 1));
    let text = text
        .filter(|bytes| bytes.len() <= 256)
        .and_then(|bytes| std::str::from_utf8(bytes).ok());
    Ok(Text::new(text.unwrap_or_default()))
}

/// Moves behind a string under the cursor.
fn skip_string(window: &mut Window<'_>) -> Result<(), Broken> {
    window.advance(1);
    loop {
        let rest = window.rest();
        if rest.is_empty() {
            return Err(Broken::End);
        }
        match memchr::memchr2(b'"', b'\\', rest) {
            None => {
                let n = rest.len();
                window.advance(n);
            }
            Some(at) if rest[at] == b'"' => {
                window.advance(at + 1);
                return Ok(());
            }
            Some(at) => {
                window.advance(at + 1);
                window.peek().ok_or(Broken::End)?;
                window.advance(1);
            }
        }
    }
}

/// Moves behind a value under the cursor.
fn value(window: &mut Window<'_>) -> Result<(), Broken> {
    let mut depth = 0_usize;
    loop {
        let rest = window.rest();
        if rest.is_empty() {
            return Err(Broken::End);
        }
        let mut at = 0;
        let step = loop {
            let Some(byte) = rest.get(at) else {
                break Step::Read;
            };
            match byte {
                b'"' => break Step::String,
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => break Step::Done, // the end of what holds a bare value
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        at += 1;
                        break Step::Done;
                    }
                }
                b',' if depth == 0 => break Step::Done,
                _ => {}
            }
            at += 1;
        };
        window.advance(at);
        if depth > OBJECT_DEPTH_MAX {
            return Err(Broken::Syntax);
        }
        match step {
            Step::Read => {}
            Step::Done => return Ok(()),
            Step::String => {
                skip_string(window)?;
                if depth == 0 {
                    return Ok(());
                }
            }
        }
    }
}

enum Step {
    Read,
    String,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line an event, so that a whole stream is one expectation.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl Sink for Log {
        fn object(&mut self, bytes: Option<&[u8]>, head: &Head, list: Option<&Head>, line: u32) {
            let bytes = String::from_utf8_lossy(bytes.unwrap_or(b"lost"));
            let list = list.map_or(String::new(), |list| format!(" in {}", list.kind));
            self.0.push(format!("{line}: {}{list} {bytes}", head.kind));
        }
        fn quick(&mut self, _: &[u8], _: &Head, _: u32) -> Quick {
            Quick::No
        }
        fn text(&mut self, line: &str, number: u32) -> AfterText {
            self.0.push(format!("{number}: text {line}"));
            match line.strip_prefix("START ") {
                Some(name) => AfterText::SkipTo(format!("END {name}")),
                None => AfterText::GoOn,
            }
        }
        fn cut(&mut self, line: u32) {
            self.0.push(format!("{line}: cut"));
        }
    }

    /// Gives one byte at a time, so that every boundary is a boundary of reading once.
    struct Drip<'a>(&'a [u8]);

    impl std::io::Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = self.0.len().min(1);
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn check(text: &str, expected: &[&str]) {
        for drip in [false, true] {
            let mut log = Log::default();
            let (mut slice, mut dripping) = (text.as_bytes(), Drip(text.as_bytes()));
            let input: &mut dyn std::io::Read = if drip { &mut dripping } else { &mut slice };
            split(&mut Window::new(input), &mut log);
            assert_eq!(log.0, expected, "drip: {drip}");
        }
    }

    #[test]
    fn documents_follow_each_other_and_lists_give_their_items() {
        check(
            "{\"kind\":\"PodList\",\"items\":[\n{\"a\":\"}\\\"]\"},{\"kind\":\"X\",\"items\":[{}]}],\"x\":1}{\n\"kind\": \"Node\"}",
            &[
                "2: in-list"
                    .replace("in-list", " in PodList {\"a\":\"}\\\"]\"}")
                    .as_str(),
                "2: X in PodList {\"kind\":\"X\",\"items\":[{}]}",
                "2: Node {\n\"kind\": \"Node\"}",
            ],
        );
    }

    #[test]
    fn text_between_documents_is_handed_out_and_logs_are_skipped() {
        check(
            "warning: x\n{\"kind\":\"A\"}START c\n{\"kind\":\"B\"}\nEND d\nEND c\n{\"kind\":\"C\"}\n",
            &[
                "1: text warning: x",
                "2: A {\"kind\":\"A\"}",
                "2: text START c",
                "6: C {\"kind\":\"C\"}",
            ],
        );
    }

    #[test]
    fn truncated_stream_gives_what_came_before() {
        check(
            "{\"kind\":\"L\",\"items\":[{\"kind\":\"A\"},{\"ki",
            &["1: A in L {\"kind\":\"A\"}", "1: cut"],
        );
    }

    #[test]
    fn head_is_seen_where_it_stands_first() {
        let check = |text: &str, api_version: &str, kind: &str| {
            let head = head_at_start(text.as_bytes());
            assert_eq!(
                (head.api_version.as_str(), head.kind.as_str()),
                (api_version, kind),
                "{text}"
            );
        };
        check(
            "{\"apiVersion\": \"v1\",\n \"kind\": \"Pod\", \"metadata\": {",
            "v1",
            "Pod",
        );
        check("{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", "v1", "Pod");
        check("{\"metadata\": {}, \"kind\": \"Pod\"}", "", "");
        check("{\"kind\": \"P\\u006fd\"}", "", "");
        check("{\"kind\"", "", "");
        check("{", "", "");
    }

    #[test]
    fn bare_array_is_a_list_and_syntax_ends_with_its_line() {
        check("[{\"kind\":\"A\"},7]\n", &["1: A in  {\"kind\":\"A\"}"]);
        check(
            "{oops\n{\"kind\":\"A\"}",
            &["1: text oops", "2: A {\"kind\":\"A\"}"],
        );
    }
}
