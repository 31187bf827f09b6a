//! Check `links`: every relative link and picture in a Markdown file leads somewhere.
//!
//! Anchors are checked too, by the slugs that the common forges make of headings.
//! Deliberately absent: links to other sites, which only the network can answer.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "links",
    about: "links between Markdown files resolve",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (line, link) in links(text) {
            if let Some(problem) = problem(tree, path, &link) {
                findings.push(Finding::error(
                    path,
                    line,
                    format!("link `{link}`: {problem}"),
                ));
            }
        }
    }
    findings
}

/// What is wrong with a link, if anything.
fn problem(tree: &Tree, page: &str, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link
        .split_once('#')
        .map_or((link, None), |(f, a)| (f, Some(a)));
    let target = if file.is_empty() {
        page.to_owned()
    } else {
        resolve(page, file)?
    };
    if !tree.exists(&target) {
        return Some("there is no such file");
    }
    let text = tree.text(&target)?;
    let is_missing = anchor.is_some_and(|anchor| !slugs(text).contains(anchor));
    (is_missing && target.ends_with(".md")).then_some("the file has no such heading")
}

/// The path of `link` from the root; a link out of the repository resolves to itself.
fn resolve(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop(); // the page itself
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Some(link.to_owned());
                }
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Destinations of links and pictures with their lines; code is no link.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            continue;
        };
        let line = text[..range.start].matches('\n').count() + 1;
        found.push((line, dest_url.into_string()));
    }
    found
}

/// Anchors of the headings of a page.
fn slugs(text: &str) -> BTreeSet<String> {
    let mut slugs = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                slugs.extend(heading.take().map(|title| slug(&title)));
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(title) = &mut heading {
                    title.push_str(&part);
                }
            }
            _ => {}
        }
    }
    slugs
}

fn slug(title: &str) -> String {
    let kept = title.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::sample;
    use super::*;

    fn texts_of(page: &str) -> Vec<String> {
        let tree = sample::files(&[
            ("docs/howto/page.md", page),
            (
                "docs/adr/0001-pure-core.md",
                "# Pure core\n\n## What `else`?\n",
            ),
            ("README.md", "# Berth\n"),
        ]);
        run(&tree).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_quiet() {
        let page = "# Page\n[a](../adr/0001-pure-core.md) [b](../../README.md#berth)\n\
                    [c](#page) [d](https://example.org/x) [e](../adr) [f](../adr/0001-pure-core.md#what-else)\n\
                    `[g](nowhere.md)`\n";
        assert_eq!(texts_of(page), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for page in [
            "[a](../adr/0002-none.md)",
            "![picture](../img/none.svg)",
            "[a](../../README.md#none)",
            "[a](#none)",
            "[a](../../../outside.md)",
        ] {
            assert_eq!(texts_of(&format!("# Page\n\n{page}\n")).len(), 1, "{page}");
        }
    }
}
