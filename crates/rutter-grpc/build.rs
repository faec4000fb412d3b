//! Makes Rust code and the description for server reflection from the .proto files.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = ["rutter/v1/reader.proto", "rutter/v1/control.proto"];
    let description = protox::compile(files, ["proto"])?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("description.bin"), description.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(false)
        .compile_fds(description)?;
    Ok(())
}
