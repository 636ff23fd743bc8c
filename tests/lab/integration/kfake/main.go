// A broker of another make: franz-go's in-memory cluster, until the end of standard input.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer cluster.Close()
	fmt.Println("listens at", cluster.ListenAddrs()[0])
	io.Copy(io.Discard, os.Stdin)
}
