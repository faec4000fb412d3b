//! Sockets, threads and timers around the pure rooms: the only crate that does I/O for routing.
