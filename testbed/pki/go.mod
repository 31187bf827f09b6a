// Keys and certificates for the testbed; the standard library is enough.
module testbed.berth.dev/pki

go 1.26.0
