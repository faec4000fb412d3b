//! Files that a configuration names: lists, members, passwords, and files that could block or have no end.

use std::path::PathBuf;
use std::process::Command;

use rutter_config::{Config, ConfigError, Loaded};
use rutter_net::Asn;

const EXCHANGE: &str =
    "[exchange]\nasn = 64500\nrouter-id = \"192.0.2.1\"\nlan = [\"192.0.2.0/24\"]\n";

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("rutter-config-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn parse(&self, text: &str) -> Result<Loaded, Vec<ConfigError>> {
        Config::parse(&format!("{EXCHANGE}{text}"), &self.0.join("rutter.toml"))
    }

    /// Returns the errors as text, without the folder.
    fn errors(&self, text: &str) -> String {
        let errors = self.parse(text).unwrap_err();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let folder = format!("{}/", self.0.display());
        errors.join("\n").replace(&folder, "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn lists_may_be_in_files() {
    let folder = Folder::new("lists");
    folder.write("asns.txt", "# transit-free\n174\nAS3356 # Lumen\n\n");
    folder.write("prefixes.txt", "198.51.100.0/24 exact\n2001:db8::/32\n");
    let loaded = folder.parse(
        "[checks]\ntransit-free = { file = \"asns.txt\" }\n\
         never-via-route-servers = [64496, { file = \"asns.txt\" }]\nblack-list = { file = \"prefixes.txt\" }\n\
         [[member]]\nasn = 3333\naddress = \"192.0.2.11\"\nallow-prefixes = [\"203.0.113.0/24\", { file = \"prefixes.txt\" }]\n\
         allow-origins = { file = \"asns.txt\" }\nwhite-list = { prefixes = { file = \"prefixes.txt\" } }\n",
    );
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors:#?}"));
    let checks = &loaded.config.checks;
    assert_eq!(checks.transit_free_asns, [Asn(174), Asn(3356)]);
    assert_eq!(
        checks.never_via_route_servers,
        [Asn(64496), Asn(174), Asn(3356)]
    );
    assert_eq!(checks.black_list.len(), 2);
    let member = &loaded.config.neighbors[0];
    assert_eq!(member.session.allow_prefixes.len(), 3);
    assert_eq!(member.session.allow_origins.len(), 2);
    assert_eq!(member.white_list.prefixes.len(), 2);
    assert!(loaded.files.contains(&folder.0.join("asns.txt")));
}

#[test]
fn errors_in_lists_have_the_line_of_the_list() {
    let folder = Folder::new("list-errors");
    folder.write("asns.txt", "174\n  banana # fruit\n0\n");
    let errors = folder.errors(
        "[checks]\ntransit-free = { file = \"asns.txt\" }\nblack-list = { file = \"none.txt\" }\n",
    );
    assert_eq!(
        errors,
        "rutter.toml:7:23: error: checks.black-list.file: cannot read none.txt: No such file or directory (os error 2)\n    \
         write the path of a text file with one entry on each line\n\
         asns.txt:2:3: error: checks.transit-free.file: `banana` is not an AS number: write 64500, AS64500 or 1.10\n    \
         write something like \"AS64500\"\n\
         asns.txt:3:1: error: checks.transit-free.file: AS 0 is reserved (RFC 7607)\n    \
         write the AS number of a network"
    );
}

#[test]
fn files_that_block_or_have_no_end_are_refused() {
    let folder = Folder::new("special");
    let made = Command::new("mkfifo")
        .arg(folder.0.join("members.toml"))
        .status();
    assert!(made.unwrap().success());
    let members = folder.errors("members = \"members.toml\"\n");
    assert!(
        members
            .contains("members.toml: error: cannot read the file: it is a pipe, socket or device"),
        "{members}"
    );
    for file in ["/dev/zero", "members.toml"] {
        let password = folder.errors(&format!(
            "[[member]]\nasn = 3333\naddress = \"192.0.2.11\"\npassword-file = \"{file}\"\n"
        ));
        assert!(
            password.contains("a pipe, socket or device, not a regular file"),
            "{password}"
        );
        let list = folder.errors(&format!("[checks]\nblack-list = {{ file = \"{file}\" }}\n"));
        assert!(
            list.contains("a pipe, socket or device, not a regular file"),
            "{list}"
        );
    }
    folder.write("long.key", &"x".repeat(5000));
    let long = folder
        .errors("[[member]]\nasn = 3333\naddress = \"192.0.2.11\"\npassword-file = \"long.key\"\n");
    assert!(long.contains("larger than 4096 bytes"), "{long}");
}

#[test]
fn a_file_with_too_many_values_is_refused_before_it_costs_memory() {
    let folder = Folder::new("values");
    let errors = folder.errors(&format!(
        "[checks]\nallow-asns = [{}]\n",
        "[],".repeat(1_000_000)
    ));
    assert!(
        errors.starts_with("rutter.toml:1:1: error: the file has more than 1000000 values"),
        "{errors}"
    );
}

#[test]
fn a_pattern_that_matches_no_file_any_more_is_an_error() {
    let folder = Folder::new("patterns");
    let file = folder.write(
        "rutter.toml",
        &format!("{EXCHANGE}members = [\"a-*.toml\", \"b-*.toml\"]\n"),
    );
    let member = folder.write(
        "a-1.toml",
        "[[member]]\nasn = 3333\naddress = \"192.0.2.11\"\n",
    );
    let running = Config::load(&file).unwrap().config;
    assert_eq!(running.neighbors.len(), 1);
    Config::load_to_replace(&file, &running).unwrap();
    std::fs::remove_file(member).unwrap();
    let errors = Config::load_to_replace(&file, &running).unwrap_err();
    assert_eq!(errors.len(), 1);
    let message = errors[0].to_string();
    assert!(
        message.contains("rutter.toml:5:12: error: exchange.members: no file matches"),
        "{message}"
    );
    assert!(message.contains("put the files back"), "{message}");
    // At the start there is nothing to lose, and without the pattern it is meant.
    assert_eq!(Config::load(&file).unwrap().warnings.len(), 2);
    let file = folder.write("rutter.toml", EXCHANGE);
    Config::load_to_replace(&file, &running).unwrap();
}

#[test]
fn round_trip_times_come_from_a_file_in_either_form_or_from_the_member() {
    let folder = Folder::new("rtt");
    let lines = "# measured at night\n192.0.2.11,12.5\n192.0.2.12 3 # close\n\n192.0.2.99;7\n2001:db8:1::11\t0.25ms\n";
    folder.write("rtt.csv", lines);
    let json = "{ \"192.0.2.11\": 12.5, \"192.0.2.12\": \"3\", \"192.0.2.99\": 7, \"192.0.2.13\": null,\n \"2001:db8:1::11\": 0.25 }";
    folder.write("rtt.json", json);
    for file in ["rtt.csv", "rtt.json"] {
        let loaded = folder.parse(&format!(
            "[communities]\nrtt-file = \"{file}\"\nnot-to-rtt-lower = \"64530:rtt\"\n\
             [[member]]\nasn = 3333\naddress = [\"192.0.2.11\", \"2001:db8:1::11\"]\n\
             [[member]]\nasn = 3334\naddress = \"192.0.2.12\"\nrtt = 40.5\n\
             [[member]]\nasn = 3335\naddress = \"192.0.2.13\"\n"
        ));
        let config = loaded.unwrap_or_else(|errors| panic!("{errors:#?}")).config;
        let rtts = config
            .neighbors
            .iter()
            .map(|n| n.session.rtt.map(|rtt| rtt.as_micros()));
        let rtts: Vec<Option<u32>> = rtts.collect();
        assert_eq!(
            rtts,
            [Some(12_500), Some(40_500), None, Some(250)],
            "{file}"
        );
        assert_eq!(config.communities.rtts.len(), 4);
    }
    let missing = folder.errors("[communities]\nrtt-file = \"nowhere.csv\"\n");
    assert!(missing.contains("cannot read nowhere.csv"), "{missing}");
}
