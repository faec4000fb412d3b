//! The promises of the parser of IRRd replies for arbitrary bytes. Shared by the fuzz target and the corpus test of the
//! stable toolchain.

use rutter_sources::irr::{IrrdReply, IrrdReplyError};

/// A stream of replies, as read from a socket: the parser consumes what it returns, and never more than it was given.
pub fn irrd_reply(data: &[u8]) {
    let mut rest = data;
    while let Some((reply, len)) = parse(rest) {
        assert!(len > 0 && len <= rest.len());
        match &reply {
            IrrdReply::Data(content) => assert!(content.len() <= LIMIT && content.len() < len),
            IrrdReply::Refused(why) => assert!(!why.chars().any(char::is_control)),
            IrrdReply::Empty | IrrdReply::NotFound | IrrdReply::NotUnique => {}
        }
        // The bytes behind a reply never change it, and a reply is never complete without its last byte.
        assert_eq!(parse(&rest[..len]), Some((reply, len)));
        assert_eq!(IrrdReply::parse(&rest[..len - 1], LIMIT), Ok(None));
        rest = &rest[len..];
    }
}

fn parse(bytes: &[u8]) -> Option<(IrrdReply, usize)> {
    match IrrdReply::parse(bytes, LIMIT) {
        Ok(reply) => reply,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            // More bytes do not repair a reply.
            let longer = [bytes, b"\nC\n"].concat();
            let again = IrrdReply::parse(&longer, LIMIT);
            assert!(matches!(again, Err(same) if is_same(&same, &error)));
            None
        }
    }
}

fn is_same(one: &IrrdReplyError, other: &IrrdReplyError) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// The longest reply.
const LIMIT: usize = 1000;
