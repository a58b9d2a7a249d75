// SPDX-License-Identifier: Apache-2.0
use super::{ChatTemplate, Status, TemplateError};

const NOW: i64 = 1_700_000_000; // 2023-11-14 22:13:20 UTC

fn render(source: &str, context: &str) -> Result<String, TemplateError> {
    ChatTemplate::compile(source)?.render(context, Some(NOW))
}

fn rendered(source: &str, context: &str) -> String {
    render(source, context).expect(source)
}

#[test]
fn blocks_are_trimmed_as_transformers_sets_jinja2_up() {
    assert_eq!(rendered("a\n  {% if true %}\n  b\n  {% endif %}\nc", "{}"), "a\n  b\nc");
}

#[test]
fn tojson_is_pythons_json_dumps() {
    let context = r#"{"x": {"b": [1, 2.0, 1e20, -1.5e-7, null, true], "a": "<é\u0001\"😀>"}}"#;
    assert_eq!(
        rendered("{{ x|tojson }}", context),
        "{\"b\": [1, 2.0, 1e+20, -1.5e-07, null, true], \"a\": \"<é\\u0001\\\"😀>\"}"
    );
    assert_eq!(
        rendered("{{ x.a|tojson(ensure_ascii=true) }}", context),
        "\"<\\u00e9\\u0001\\\"\\ud83d\\ude00>\""
    );
    assert_eq!(
        rendered("{{ {'b': [1, []], 'a': {}}|tojson(indent=2, sort_keys=true) }}", "{}"),
        "{\n  \"a\": {},\n  \"b\": [\n    1,\n    []\n  ]\n}"
    );
    assert_eq!(
        rendered("{{ [1, {'k': 2}]|tojson(separators=(',', ':')) }}", "{}"),
        "[1,{\"k\":2}]"
    );
}

#[test]
fn values_print_as_python_prints_them() {
    let context = r#"{"x": {"a": ["it's", true, null, 1.0]}, "big": 1e16}"#;
    assert_eq!(
        rendered("{{ x }} {{ x.a[1] }} {{ big }}", context),
        "{'a': [\"it's\", True, None, 1.0]} True 1e+16"
    );
}

#[test]
fn string_methods_follow_python() {
    assert_eq!(
        rendered(
            "[{{ '\\x1c a b\\x1f'.strip() }}]"
                .replace("\\x1c", "\u{1c}")
                .replace("\\x1f", "\u{1f}")
                .as_str(),
            "{}"
        ),
        "[a b]"
    );
    assert_eq!(rendered("{{ ' a  b c '.split() }}", "{}"), "['a', 'b', 'c']");
    assert_eq!(rendered("{{ ' a  b  c '.split(none, 1) }}", "{}"), "['a', 'b  c ']");
    assert_eq!(rendered("{{ 'a.b.c'.rsplit('.', 1) }}", "{}"), "['a.b', 'c']");
    assert_eq!(rendered("{{ 'a\\r\\nb\\n'.splitlines() }}", "{}"), "['a', 'b']");
    assert_eq!(rendered("{{ 'abc'.removeprefix('a').removesuffix('c') }}", "{}"), "b");
    assert_eq!(rendered("{{ 'é</think>x'.split('</think>')[-1] }}", "{}"), "x");
    assert_eq!(rendered("{{ 'xaxx'.lstrip('x') }}{{ {'k': 1}.get('z', 'd') }}", "{}"), "axxd");
}

#[test]
fn the_generation_tag_renders_its_body_in_its_own_scope() {
    let source =
        "{% set x = 1 %}{%- generation -%} {% set x = 2 %}{{ x }}{%- endgeneration %}{{ x }}";
    assert_eq!(rendered(source, "{}"), "21");
}

#[test]
fn strftime_now_tells_the_given_time() {
    assert_eq!(rendered("{{ strftime_now('%Y') }}", "{}"), "2023");
    assert_eq!(render("{{ strftime_now('%Y' * 2000) }}", "{}").unwrap_err().status, Status::Failed);
}

#[test]
fn errors_tell_kind_message_and_line() {
    let error = render("a\n{% if %}", "{}").unwrap_err();
    assert_eq!((error.status, error.line), (Status::SyntaxError, 2));
    let error = render("\n\n{{ raise_exception('no tools') }}", "{}").unwrap_err();
    assert_eq!((error.status, error.line), (Status::Refused, 3));
    assert_eq!(error.message, "no tools");
    let error =
        render("{% macro f() %}\n{{ raise_exception('in') }}{% endmacro %}\n\n{{ f() }}", "{}")
            .unwrap_err();
    assert_eq!((error.status, error.line, error.message.as_str()), (Status::Refused, 2, "in"));
    let error = render("\n{{ messages[0]['x'].y }}", r#"{"messages": [{}]}"#).unwrap_err();
    assert_eq!((error.status, error.line), (Status::Failed, 2));
    assert_eq!(render("x", "[1").unwrap_err().status, Status::Failed);
}

#[test]
fn costly_templates_are_stopped() {
    let error = render(
        "{% for i in range(90000) %}{% for j in range(90000) %}x{% endfor %}{% endfor %}",
        "{}",
    )
    .unwrap_err();
    assert_eq!(error.status, Status::TooCostly);
    let error = render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{}").unwrap_err();
    assert!(matches!(error.status, Status::Failed | Status::TooCostly), "{error:?}");
}

// Each level costs fuel to make and stack to print, compare or drop: the fuel must run out first.
// The stack is sized for release builds, whose frames are small.
#[cfg(not(debug_assertions))]
#[test]
fn values_nested_without_end_run_out_of_fuel_before_they_run_out_of_stack() {
    const NESTING: usize = 40;
    let deeper = format!("{}ns.x{}", "[".repeat(NESTING), "]".repeat(NESTING));
    let mut num_costly = 0;
    for num_rounds in [1_000, 5_000, 8_000, 10_000, 12_000, 15_000] {
        for ending in ["", "{{ ns.x }}", "{{ ns.x == ns.y }}", "{{ {ns.x: 1} }}"] {
            let source = format!(
                "{{% set ns = namespace(x=[]) %}}{{% for i in range({num_rounds}) %}}\
                 {{% set ns.x = {deeper} %}}{{% set ns.y = [ns.x] %}}{{% endfor %}}{ending}"
            );
            num_costly += usize::from(render(&source, "{}").is_err());
        }
    }
    assert!((4..24).contains(&num_costly), "{num_costly}");
}
