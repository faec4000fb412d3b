//! The files of the looking glass, which are part of the program.

/// A file.
pub(crate) struct PageFile {
    pub(crate) path: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) bytes: &'static [u8],
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// All files.
pub(crate) const FILES: &[PageFile] = &[
    PageFile {
        path: "/",
        kind: "text/html; charset=utf-8",
        bytes: include_bytes!("../assets/index.html"),
    },
    PageFile {
        path: "/looking-glass.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("../assets/looking-glass.css"),
    },
    PageFile {
        path: "/icon.svg",
        kind: "image/svg+xml",
        bytes: include_bytes!("../assets/icon.svg"),
    },
    PageFile {
        path: "/elements.js",
        kind: JAVASCRIPT,
        bytes: include_bytes!("../assets/elements.js"),
    },
    PageFile {
        path: "/charts.js",
        kind: JAVASCRIPT,
        bytes: include_bytes!("../assets/charts.js"),
    },
    PageFile {
        path: "/looking-glass.js",
        kind: JAVASCRIPT,
        bytes: include_bytes!("../assets/looking-glass.js"),
    },
];
