//! Operators and regular expressions that DataFusion reads differently from PostgreSQL.

use rutter_sql::Access;

use crate::server::{answer, refusal, server};

#[test]
fn signs_belong_to_their_numbers() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT -2 ^ 2, -(2 ^ 2), 3 * -2 ^ 2, -2 ^ 3 ^ 2, 2 ^ -1.0, -family ^ 2 FROM routes WHERE family = 6"
        ),
        "4|-4|12|64|0.5|36\n"
    );
}

#[test]
fn groups_stand_behind_backslashes() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            r"SELECT regexp_replace('abc', '(b)', '$1$1'), regexp_replace('abc', 'b', '${x}'), regexp_replace('abc', '(b)', '\1\1'), regexp_replace('abc', 'b', '[\&]'), regexp_replace(peer_name, '(\w+) (\d)', '\2 \1 $0') FROM peers ORDER BY 5 LIMIT 1"
        ),
        "a$1$1c|a${x}c|abbc|a[b]c|1 peer $0\n"
    );
    let refused = refusal(&server, r"SELECT regexp_replace('abc', 'b', '\\1')");
    assert!(refused.contains("backslash before a digit"), "{refused}");
}

#[test]
fn words_and_lines_are_postgresqls() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            r"SELECT E'a\nb' ~ 'a.b', E'a\nb' !~ 'a.b', regexp_match(E'a\nb', 'a.') = ARRAY[E'a\n'], 'a.b' ~ 'a\.b', 'x[y' ~ 'x[[]y', '1 174 2' ~ '\m174\M', '1174' ~ '\y174', E'A\nB' ~* 'a.b'"
        ),
        "t|f|t|t|t|t|f|t\n"
    );
    assert_eq!(
        answer(
            &server,
            r"SELECT count(*) FILTER (WHERE as_path ~ '[[:<:]]64510[[:>:]]'), count(*) FILTER (WHERE as_path ~ '[[:<:]]6451[[:>:]]'), count(*) FILTER (WHERE as_path ~ '^64501 .*0$'), count(*) FILTER (WHERE as_path ~ ('\m' || origin_as || '$')) FROM routes"
        ),
        "4|0|3|6\n"
    );
}

/// Backslashes before letters, and the contents of bracket expressions.
#[test]
fn escapes_and_classes_are_postgresqls() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            r"SELECT 'a<b' ~ 'a\<b', 'a>b' ~ 'a\>b', 'foo bar' ~ '\bbar', E'x\b' ~ '\b', 'a\b' ~ 'a\Bb', E'x\b' ~ '[\b]', '\' ~ '[\B]', 'a<' ~ '[\<]', '٣' ~ '\d', '٣' ~ '[[:digit:]]', 'a1' ~ 'a\d', '1' ~ '[\d]'"
        ),
        "t|t|f|t|t|t|t|t|f|f|t|t\n"
    );
    assert_eq!(
        answer(
            &server,
            r"SELECT 'a' ~ '[[.a.]]', 'a-b' ~ 'a[[.-.]]b', 'a' ~ '[[=a=]]', 'b]' ~ 'b[[.].]]', 'é' ~ '[[.é.]]', 'a1-b' ~ '^[[:alnum:]]{2,10}-[[:lower:]]$'"
        ),
        "t|t|t|t|t|t\n"
    );
    refusal(&server, "SELECT '-' ~ '[[.hyphen.]]'");
}

/// An operation on NULL returns NULL.
#[test]
fn bits_of_nothing_are_nothing() {
    let server = server(Access::Open);
    assert_eq!(
        answer(
            &server,
            "SELECT x # x, x & x, x | x, x - x, x * 0, x & 0, x # 0, 0 # x, x # 1 # x FROM (VALUES (6), (NULL)) v(x) ORDER BY x"
        ),
        "0|6|6|0|0|0|6|6|1\n||||||||\n"
    );
    assert_eq!(
        answer(
            &server,
            "SELECT count(*) FILTER (WHERE med # med = 0), max(med # 3), max(family # 2::smallint) FROM routes"
        ),
        "2|49|6\n"
    );
}

#[test]
fn windows_that_extend_named_ones_are_refused() {
    let server = server(Access::Open);
    for sql in [
        "SELECT sum(x) OVER (w ROWS 1 PRECEDING) FROM (VALUES (1)) v(x) WINDOW w AS (ORDER BY x)",
        "SELECT sum(x) OVER u FROM (VALUES (1)) v(x) WINDOW w AS (ORDER BY x), u AS (w)",
    ] {
        let refused = refusal(&server, sql);
        assert!(refused.contains("write OVER w"), "{sql}: {refused}");
    }
}
