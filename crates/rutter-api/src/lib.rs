//! The management protocol: requests, answers and their human and JSON forms over a local socket.
