//! A page for a browser: one file, no script, nothing to load.
//!
//! Invariant: the page holds no address of another file, and every text in it is escaped.

use std::fmt::Write as _;

use crate::output::table::Table;

/// The look of every page: light and dark, screen and paper.
const STYLE: &str = include_str!("html/page.css");

/// A report as a page.
#[derive(Debug)]
pub(crate) struct Page {
    /// Its title.
    pub(crate) title: String,
    /// What it is about, in a sentence or two.
    pub(crate) lead: String,
    /// The command that makes it.
    pub(crate) command: String,
    /// Figures as tables.
    pub(crate) tables: Vec<Table>,
    /// Figures as pictures.
    pub(crate) figures: Vec<Figure>,
}

/// A picture with its heading.
#[derive(Debug)]
pub(crate) struct Figure {
    /// The heading.
    pub(crate) title: String,
    /// How to read it.
    pub(crate) reading: String,
    /// The picture, as SVG.
    pub(crate) svg: String,
}

/// Something that can be shown in a browser.
pub(crate) trait Report {
    /// The page; `command` makes it.
    fn page(&self, command: String) -> Page;
}

impl Page {
    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        let mut out = String::new();
        let title = escape(&self.title);
        put(
            &mut out,
            format_args!(
                "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                 <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
                 <meta name=\"color-scheme\" content=\"light dark\">\n\
                 <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
                 <h1>{title}</h1>\n<p class=\"lead\">{}</p>\n",
                escape(&self.lead)
            ),
        );
        for table in &self.tables {
            write_table(&mut out, table);
        }
        for figure in &self.figures {
            put(
                &mut out,
                format_args!(
                    "<figure>\n<h2>{}</h2>\n{}<figcaption>{}</figcaption>\n</figure>\n",
                    escape(&figure.title),
                    figure.svg,
                    escape(&figure.reading)
                ),
            );
        }
        put(
            &mut out,
            format_args!(
                "</main>\n<footer>\n<p>Made by Berth {} with</p>\n<pre>{}</pre>\n</footer>\n</body>\n</html>\n",
                env!("CARGO_PKG_VERSION"),
                escape(&self.command)
            ),
        );
        out
    }
}

/// Text that means itself in HTML, also within quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

fn write_table(out: &mut String, table: &Table) {
    out.push_str("<div class=\"wide\">\n<table>\n");
    if let Some(title) = table.title() {
        put(out, format_args!("<caption>{}</caption>\n", escape(title)));
    }
    let class = |index: usize| {
        if table.columns()[index].is_figure() {
            " class=\"n\""
        } else {
            ""
        }
    };
    out.push_str("<thead><tr>");
    for (index, column) in table.columns().iter().enumerate() {
        let (class, name) = (class(index), escape(column.name()));
        put(out, format_args!("<th scope=\"col\"{class}>{name}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in table.rows() {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let (class, cell) = (class(index), escape(cell));
            let (open, close) = if index == 0 {
                ("th scope=\"row\"", "th")
            } else {
                ("td", "td")
            };
            put(out, format_args!("<{open}{class}>{cell}</{close}>"));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    for note in table.notes() {
        put(
            out,
            format_args!("<p class=\"note\">{}</p>\n", escape(note)),
        );
    }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::table::Column;

    #[test]
    fn a_page_loads_nothing_and_escapes_names() {
        let mut table = Table::new([Column::text("name"), Column::figure("n")]).titled("<T>");
        table.row(["<script>alert(1)</script>", "1"]);
        let page = Page {
            title: "a & b".to_owned(),
            lead: String::new(),
            command: "berth".to_owned(),
            tables: vec![table],
            figures: Vec::new(),
        };
        let html = page.html();
        for forbidden in [
            "<script", "http:", "https:", "src=", "href=", "@import", "url(",
        ] {
            assert!(!html.contains(forbidden), "{forbidden}");
        }
        assert!(html.contains("<title>a &amp; b</title>"));
        assert!(html.contains("<caption>&lt;T&gt;</caption>"));
    }
}
