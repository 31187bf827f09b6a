// The one image of a real node, made by hand; the standard library is enough.
module testbed.berth.dev/image

go 1.26.0
