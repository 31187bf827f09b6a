// Command etcd is etcd's own server: upstream keeps its main package in a module without a usable tag.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
