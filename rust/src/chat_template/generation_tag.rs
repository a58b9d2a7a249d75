// SPDX-License-Identifier: Apache-2.0
//! `transformers` adds a tag of its own, `{% generation %}...{% endgeneration %}`, that marks the
//! assistant's tokens for training and renders its body in a scope of its own. Jinja's `with`
//! without variables is just that, so the two tags are rewritten; lines and columns of the rest stay
//! where they were as far as lines go.

const TAGS: [(&str, &str); 2] = [("generation", "with"), ("endgeneration", "endwith")];

/// The source with each generation tag replaced. Text in `{% raw %}` or in comments that looks like
/// the tag is replaced too: harmless there but for the raw text, which no known template has.
pub fn replace(source: &str) -> String {
    let mut result = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start + 2);
        result.push_str(before);
        rest = match match_tag(tag) {
            Some((lead, replacement, tail)) => {
                result.push_str(lead);
                result.push_str(replacement);
                tail
            }
            None => tag,
        };
    }
    result.push_str(rest);
    result
}

/// For text after "{%": (whitespace control and spaces, new name, what follows the old name).
fn match_tag(tag: &str) -> Option<(&str, &'static str, &str)> {
    let name = tag.trim_start_matches(['-', '+']).trim_start();
    let lead = &tag[..tag.len() - name.len()];
    TAGS.iter().find_map(|(old, new)| {
        let tail = name.strip_prefix(old)?;
        let end = tail.trim_start().trim_start_matches(['-', '+']);
        end.starts_with("%}").then_some((lead, *new, tail))
    })
}
