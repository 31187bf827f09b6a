//! What the checks need to know of a Rust file: how long it and its functions are, without tests.
//!
//! Invariant: lines inside `#[cfg(test)]` items count for nothing.
//! A function's length runs from its `fn` line to its closing brace; docs and attributes are free.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// A parsed file, reduced to lengths.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct RustFile {
    /// Lines outside test code.
    pub lines: usize,
    pub functions: Vec<Function>,
}

/// A function with a body, outside test code.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Function {
    pub name: String,
    /// 1-based line of the signature.
    pub line: usize,
    pub lines: usize,
}

impl RustFile {
    /// `None` where the text is no valid Rust.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let file = syn::parse_file(text).ok()?;
        let mut walk = Walk::default();
        walk.visit_file(&file);
        let lines = text.lines().count().saturating_sub(walk.test_lines);
        Some(Self {
            lines,
            functions: walk.functions,
        })
    }
}

#[derive(Default)]
struct Walk {
    test_lines: usize,
    functions: Vec<Function>,
}

impl Walk {
    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let line = signature.span().start().line;
        self.functions.push(Function {
            name: signature.ident.to_string(),
            line,
            lines: body.span().end().line - line + 1,
        });
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test_only(attributes(item)) {
            self.test_lines += lines_of(item.span());
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test_only(&function.attrs) {
            self.function(&function.sig, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.function(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn lines_of(span: Span) -> usize {
    span.end().line - span.start().line + 1
}

/// `#[cfg(test)]` and `#[test]`; a `cfg` that only mentions `test` does not count.
fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let is_cfg_test = path.is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|condition| condition.is_ident("test"));
        is_cfg_test || path.is_ident("test")
    })
}

/// The attributes of the items that people put under `#[cfg(test)]`.
fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_code_counts_for_nothing() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n";
        let file = RustFile::parse(text).unwrap();
        assert_eq!(file.lines, 2);
        assert_eq!(file.functions.len(), 1);
    }

    #[test]
    fn function_runs_from_signature_to_brace() {
        let text = "/// Docs\n/// more\n#[inline]\nfn a(\n    x: u8,\n) -> u8 {\n    x\n}\n";
        let file = RustFile::parse(text).unwrap();
        let expected = Function {
            name: "a".to_owned(),
            line: 4,
            lines: 5,
        };
        assert_eq!(file.functions, [expected]);
    }

    #[test]
    fn braces_in_strings_do_not_mislead() {
        let text = "fn a() {\n    let _ = \"} } }\";\n    let _ = '}';\n}\nfn b() {}\n";
        let file = RustFile::parse(text).unwrap();
        let lengths: Vec<_> = file.functions.iter().map(|f| f.lines).collect();
        assert_eq!(lengths, [4, 1]);
    }

    #[test]
    fn methods_defaults_and_nested_functions_are_seen() {
        let text = "trait T { fn a(&self) {} fn no_body(&self); }\n\
                    impl X { fn b(&self) { fn c() {} } }\n\
                    #[cfg(not(test))]\nfn d() {}\n";
        let file = RustFile::parse(text).unwrap();
        let names: Vec<_> = file.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
    }
}
