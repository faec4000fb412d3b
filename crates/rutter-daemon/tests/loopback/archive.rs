//! The MRT archive has the messages of the neighbors.

use crate::support::{Folder, Speaker, member, start};
use rutter_wire::mrt::{Content, Records};

#[test]
fn updates_are_archived_as_received() {
    let folder = Folder::new("archive");
    let directory = folder.0.join("mrt");
    let more = format!(
        "{}{}[mrt]\ndirectory = \"{}\"\ntable-interval = 0\nupdates-interval = \"1h\"\ncompress = \"none\"\n",
        member(1, 64501, ""),
        member(2, 64502, ""),
        directory.display()
    );
    let (daemon, address) = start(&folder, 2, &more);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[65010]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    daemon.stop("test over");

    let files: Vec<_> = std::fs::read_dir(&directory).expect("folder").collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let path = files[0].as_ref().expect("an entry").path();
    let bytes = std::fs::read(path).expect("a file");
    let (mut states, mut messages) = (0, 0);
    for record in Records::new(&bytes) {
        match record.expect("a record").decode().expect("its content") {
            Content::StateChange(_) => states += 1,
            Content::Message(_) => messages += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(messages >= 1, "the announcement is there");
    assert_eq!(states, 4, "two sessions came and went");
}
