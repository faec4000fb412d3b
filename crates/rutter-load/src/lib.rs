//! Built-in BGP speakers that load any daemon and verify what each client receives.
