//! Clients that mean harm: nobody else notices them.

use rutter_sql::Access;

use crate::raw::Raw;
use crate::server::{answer, server};

#[test]
fn a_parameter_has_a_number_that_can_be_bound() {
    let server = server(Access::Open);
    let mut raw = Raw::login(&server);
    for number in ["65536", "4000000000", "99999999999999999999999"] {
        raw.parse("", &format!("SELECT ${number}::int"));
        raw.send(b'D', b"S\0");
        raw.send(b'S', b"");
        let said = raw.error();
        assert!(said.contains("54023") && said.contains("65535"), "{said}");
        raw.until(b'Z');
    }
    raw.parse("", "SELECT $65535::int");
    raw.send(b'D', b"S\0");
    raw.send(b'S', b"");
    assert_eq!(raw.until(b't')[..2], [0xff, 0xff]);
    raw.until(b'Z');
    assert_eq!(answer(&server, "SELECT 1"), "1\n");
}
