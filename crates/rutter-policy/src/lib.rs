//! Verdicts on routes: import checks and the audiences that action communities name.
