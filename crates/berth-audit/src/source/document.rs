//! From a file of documents to records: JSON or YAML is told by the first byte.

use std::io::Read;

use super::json::{self, AfterText, Head, Quick};
use super::window::Window;
use super::{Entry, Reading, unreadable, yaml};
use crate::dump::kinds::{Kind, Refused};
use crate::dump::place::{FileId, Place};
use crate::dump::text::Text;

/// What the place of a file says about its objects.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Expected {
    /// The kind of objects that do not name theirs.
    pub(super) kind: Option<Kind>,
    /// Whether text beside the objects is a gap, or belongs there.
    pub(super) text: TextIs,
}

/// What text between documents means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TextIs {
    /// Errors of the tool that wrote the file.
    #[default]
    Gap,
    /// No fault: the file may hold anything.
    Free,
    /// Logs of containers, as `kubectl cluster-info dump` prints them, and errors otherwise.
    Logs,
}

/// Reads every object of a file.
pub(super) fn read(
    reading: &mut Reading,
    prefix: &Text,
    entry: &mut Entry<'_>,
    expected: Expected,
) {
    let place = entry.place();
    let mut window = Window::new(entry.body);
    let mut sink = Objects {
        reading,
        prefix,
        file: entry.file,
        expected,
        n_text: 0,
        n_unread: 0,
    };
    match window.skip_blanks() {
        None => {}
        Some(b'{' | b'[') => json::split(&mut window, &mut sink),
        Some(_) if expected.text == TextIs::Logs => json::split(&mut window, &mut sink),
        Some(_) => yaml::split(&mut window, &mut sink),
    }
    let n_text = sink.n_text;
    if n_text > 1 {
        let why = format!("{n_text} lines of text stand where objects should");
        reading.dump.coverage.gap("objects", place, why);
    }
    if let Some(error) = window.take_error() {
        reading
            .dump
            .coverage
            .gap("objects", place, unreadable(&error));
    }
}

/// Reads one object that is there in whole.
pub(super) fn read_bytes(reading: &mut Reading, prefix: &Text, file: FileId, bytes: &[u8]) {
    let mut body: &[u8] = bytes;
    let mut entry = Entry {
        path: "",
        file,
        body: &mut body as &mut dyn Read,
    };
    read(reading, prefix, &mut entry, Expected::default());
}

struct Objects<'a> {
    reading: &'a mut Reading,
    prefix: &'a Text,
    file: FileId,
    expected: Expected,
    n_text: u64,
    n_unread: u64,
}

enum Body<'a> {
    Json(&'a [u8]),
    Yaml(&'a str),
}

impl Objects<'_> {
    fn take(&mut self, body: Option<&Body<'_>>, head: &Head, list: Option<&Head>, line: u32) {
        let place = Place {
            file: self.file,
            line,
        };
        let Some(kind) = self.kind(head, list) else {
            self.unread(head, list, place);
            return;
        };
        if let Some(root) = self.reading.roots.get_mut(self.prefix) {
            root.saw(kind, list.is_some());
        }
        let dump = &mut self.reading.dump;
        let spec = kind.spec();
        let result = match body {
            Some(Body::Json(bytes)) => (spec.json)(dump, bytes, place),
            Some(Body::Yaml(text)) => yaml::to_json(text)
                .map_err(Refused::Wrong)
                .and_then(|bytes| (spec.json)(dump, &bytes, place)),
            None => Err(Refused::Wrong(
                "it is larger than any object of Kubernetes".to_owned(),
            )),
        };
        match result {
            Ok(_) => {}
            Err(Refused::Wrong(why)) => dump.coverage.kind_gap(kind, place, why),
            Err(Refused::Unfinished) => dump.coverage.kind_gap(kind, place, "it ends too early"),
        }
    }

    /// The kind of an object: its own, else that of its list, else that of its place.
    fn kind(&self, head: &Head, list: Option<&Head>) -> Option<Kind> {
        if !head.kind.is_empty() {
            return Kind::of(&head.api_version, &head.kind);
        }
        let of_list = list.and_then(|list| Kind::of_list(&list.api_version, &list.kind));
        of_list.or(self.expected.kind)
    }

    /// An object of a kind that no rule reads, or no object at all.
    fn unread(&mut self, head: &Head, list: Option<&Head>, place: Place) {
        let name = match (head.kind.as_str(), list) {
            ("", Some(list)) if !list.kind.is_empty() => list.kind.clone(),
            ("", _) => {
                self.n_unread += 1;
                if self.n_unread == 1 && self.expected.text != TextIs::Free {
                    let why = "it holds documents that are no objects of Kubernetes";
                    self.reading.dump.coverage.gap("objects", place, why);
                }
                return;
            }
            (kind, _) => Text::new(kind),
        };
        *self.reading.dump.coverage.unread.entry(name).or_default() += 1;
    }
}

impl json::Sink for Objects<'_> {
    fn object(&mut self, bytes: Option<&[u8]>, head: &Head, list: Option<&Head>, line: u32) {
        self.take(bytes.map(Body::Json).as_ref(), head, list, line);
    }

    fn quick(&mut self, bytes: &[u8], list: &Head, line: u32) -> Quick {
        let Some(kind) = self.kind(&json::head_at_start(bytes), Some(list)) else {
            return Quick::No;
        };
        let place = Place {
            file: self.file,
            line,
        };
        match (kind.spec().json)(&mut self.reading.dump, bytes, place) {
            Ok(n_bytes) => {
                if let Some(root) = self.reading.roots.get_mut(self.prefix) {
                    root.saw(kind, true);
                }
                Quick::Took(n_bytes)
            }
            Err(Refused::Unfinished) => Quick::Unfinished,
            Err(Refused::Wrong(_)) => Quick::No,
        }
    }

    fn text(&mut self, line: &str, number: u32) -> AfterText {
        if self.expected.text == TextIs::Logs
            && let Some(what) = line.strip_prefix("==== START ")
        {
            return AfterText::SkipTo(format!("==== END {what}"));
        }
        if self.expected.text == TextIs::Free {
            return AfterText::GoOn;
        }
        self.n_text += 1;
        if self.n_text == 1 {
            let line: String = line.chars().take(200).collect();
            let place = Place {
                file: self.file,
                line: number,
            };
            self.reading.dump.coverage.gap(
                "objects",
                place,
                format!("text instead of objects: {line}"),
            );
        }
        AfterText::GoOn
    }

    fn cut(&mut self, line: u32) {
        let place = Place {
            file: self.file,
            line,
        };
        self.reading.dump.coverage.gap(
            "objects",
            place,
            "it ends inside a document: the file is truncated",
        );
        // Every kind of this root may have gone on behind the cut.
        if let Some(root) = self.reading.roots.get_mut(self.prefix) {
            root.is_cut = true;
        }
    }
}

impl yaml::Sink for Objects<'_> {
    fn object(&mut self, text: Option<&str>, head: &Head, list: Option<&Head>, line: u32) {
        self.take(text.map(Body::Yaml).as_ref(), head, list, line);
    }
}
