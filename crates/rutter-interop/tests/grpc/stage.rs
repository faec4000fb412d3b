//! A route server with two members, and a gRPC server beside it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use rutter_interop::rutter::{self, Rutter, member};
use rutter_interop::{
    Lab, Process, Route, Speaker, bird::Bird, client, eventually, output_of, program, up,
};

/// The accepted routes of the first member.
pub const ACCEPTED: u64 = 31;

/// A route server with two members. The first announces [`ACCEPTED`] routes that are accepted, and one that is not.
pub struct Stage {
    pub lab: Lab,
    pub rutter: Rutter,
    pub first: Bird,
    _second: Bird,
}

impl Stage {
    pub fn new() -> Stage {
        let lab = Lab::new();
        let sections =
            [(2, 2_102), (3, 2_103)].map(|(host, asn)| member(lab.address(host), asn, ""));
        let mut rutter = Rutter::start(&lab, &sections.concat());
        let mut first = Bird::start(client(&lab, &rutter, 2, 2_102, |_| {}));
        let mut second = Bird::start(client(&lab, &rutter, 3, 2_103, |_| {}));
        up(&lab, &mut rutter, 2, &mut first);
        up(&lab, &mut rutter, 3, &mut second);
        let mut all = routes(30);
        all.push(Route::new("45.10.2.0/24", "10.77.0.2", &[2_102, 3_333]));
        all.push(Route::new("45.11.2.128/25", "10.77.0.2", &[2_102]));
        first.announce(&all);
        let stage = Stage {
            lab,
            rutter,
            first,
            _second: second,
        };
        stage.has(ACCEPTED);
        stage
    }

    /// Waits until Rutter has accepted so many routes of the first member.
    pub fn has(&self, accepted: u64) {
        eventually("Rutter has the routes", || {
            let session = self.rutter.session(self.lab.address(2))?;
            let held = session["families"][0]["accepted"].as_u64().unwrap_or(0);
            match held == accepted {
                true => Ok(()),
                false => Err(format!("{held} of {accepted}")),
            }
        });
    }
}

/// So many routes of the first member, a /24 each.
pub fn routes(count: usize) -> Vec<Route> {
    let route = |n: usize| {
        let prefix = format!("{}.{}.{}.0/24", 46 + n / 65_536, n / 256 % 256, n % 256);
        Route::new(&prefix, "10.77.0.2", &[2_102])
    };
    (0..count).map(route).collect()
}

/// A running `rutter grpc`.
pub struct Grpc {
    pub address: String,
    pub process: Process,
}

impl Grpc {
    /// Starts it on host 8 of the lab, with these further arguments.
    pub fn start(lab: &Lab, rutter: &Rutter, arguments: &[&str]) -> Grpc {
        let address = format!("{}:17901", lab.address(8));
        let mut command = Command::new(rutter::program());
        command.args([
            "grpc",
            "--listen",
            &address,
            "--requests-per-second",
            "1000",
        ]);
        command.arg("--socket").arg(rutter.read_only_socket());
        command.args(arguments);
        let mut process = Process::start("rutter grpc", &lab.folder("grpc"), &mut command);
        eventually("the server listens", || {
            process.check_alive()?;
            std::net::TcpStream::connect(&address).map_err(|why| why.to_string())
        });
        Grpc { address, process }
    }

    /// Its resident memory, KiB.
    pub fn memory_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("the process runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let digits = line.and_then(|line| line.split_whitespace().next());
        digits
            .and_then(|digits| digits.parse().ok())
            .expect("a number")
    }
}

/// The SHA-256 of these bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Relaxed);
    let file = format!("sha256-{}-{number}", std::process::id());
    let file = std::env::temp_dir().join(file);
    fs::write(&file, bytes).expect("a file");
    let text = output_of(Command::new(program("sha256sum")).arg(&file));
    let text = text.unwrap_or_else(|why| panic!("{why}"));
    fs::remove_file(&file).expect("the file");
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Writes an authority, a server's certificate and a client's certificate into a folder.
pub fn certificates(folder: &Path) {
    let openssl = |arguments: &str| {
        let mut command = Command::new(program("openssl"));
        command.current_dir(folder).args(arguments.split(' '));
        output_of(&mut command).unwrap_or_else(|why| panic!("{arguments}: {why}"));
    };
    let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
    openssl(&format!(
        "{new} -subj /CN=authority -keyout ca.key -out ca.crt"
    ));
    for (name, host) in [
        ("server", "rs1.example.net"),
        ("client", "portal.example.net"),
    ] {
        openssl(&format!(
            "{new} -CA ca.crt -CAkey ca.key -subj /CN={host} -addext subjectAltName=DNS:{host} \
             -addext basicConstraints=critical,CA:FALSE -keyout {name}.key -out {name}.crt"
        ));
    }
    openssl("x509 -in client.crt -outform DER -out client.der");
}
