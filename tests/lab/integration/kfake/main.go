// A broker of another make: franz-go's in-memory cluster, until the end of standard input.
//
// A line of standard input says what its answers to one kind of request have from then on:
//
//	KEY LEVEL CODE COUNT    an error at a level (group, topic, partition) in the next COUNT answers
//	KEY LEVEL missing COUNT no group, topic or partition there
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"reflect"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The level of what a field has several of.
var levels = map[string]string{
	"Groups": "group", "Coordinators": "group",
	"Topics": "topic", "Resources": "topic", "Dirs": "topic", "Results": "topic",
	"Partitions": "partition",
}

type fault struct {
	key     int16
	level   string
	code    int16
	missing bool
	left    int
}

var (
	mu      sync.Mutex
	current fault
)

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(listen))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer cluster.Close()
	fmt.Println("listens at", cluster.ListenAddrs()[0])
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var next fault
		var code string
		if _, err := fmt.Sscan(lines.Text(), &next.key, &next.level, &code, &next.left); err != nil {
			fmt.Println(err)
			continue
		}
		if next.missing = code == "missing"; !next.missing {
			fmt.Sscan(code, &next.code)
		}
		mu.Lock()
		unused := current.left
		current = next
		mu.Unlock()
		fmt.Println("unused", unused)
	}
}

func listen(network, address string) (net.Listener, error) {
	listener, err := net.Listen(network, address)
	return faulty{listener}, err
}

type faulty struct{ net.Listener }

func (l faulty) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &faultyConn{Conn: conn, asked: map[int32][2]int16{}}, err
}

// faultyConn remembers requests, and changes answers.
type faultyConn struct {
	net.Conn
	mu       sync.Mutex
	received []byte
	asked    map[int32][2]int16
}

func (c *faultyConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, into[:n]...)
	for len(c.received) >= 12 {
		size := 4 + int(binary.BigEndian.Uint32(c.received))
		if len(c.received) < size {
			break
		}
		key := int16(binary.BigEndian.Uint16(c.received[4:]))
		version := int16(binary.BigEndian.Uint16(c.received[6:]))
		c.asked[int32(binary.BigEndian.Uint32(c.received[8:]))] = [2]int16{key, version}
		c.received = c.received[size:]
	}
	return n, err
}

// Write gets one whole answer.
func (c *faultyConn) Write(answer []byte) (int, error) {
	c.mu.Lock()
	asked := c.asked[int32(binary.BigEndian.Uint32(answer[4:]))]
	c.mu.Unlock()
	if _, err := c.Conn.Write(changed(answer, asked[0], asked[1])); err != nil {
		return 0, err
	}
	return len(answer), nil
}

func changed(answer []byte, key, version int16) []byte {
	mu.Lock()
	defer mu.Unlock()
	if current.left == 0 || current.key != key {
		return answer
	}
	response := kmsg.ResponseForKey(key)
	response.SetVersion(version)
	header := 8
	if response.IsFlexible() && key != int16(kmsg.ApiVersions) {
		header++ // no tags
	}
	if err := response.ReadFrom(answer[header:]); err != nil {
		panic(err)
	}
	if !walk(reflect.ValueOf(response).Elem(), "group") {
		return answer // nothing of that level in it
	}
	current.left--
	out := response.AppendTo(append([]byte{}, answer[:header]...))
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

// walk applies the fault to a value of a level; it returns whether it has changed something.
func walk(value reflect.Value, level string) bool {
	found := false
	if code := value.FieldByName("ErrorCode"); level == current.level && !current.missing && code.IsValid() {
		code.SetInt(int64(current.code))
		found = true
	}
	for i := range value.NumField() {
		field, name := value.Field(i), value.Type().Field(i).Name
		inner, known := levels[name]
		if !known || field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Struct {
			continue
		}
		switch {
		case current.missing && inner == current.level && field.Len() > 0, found && inner != level:
			field.Set(reflect.Zero(field.Type())) // an error of a group has no topics
			found = true
		default:
			for j := range field.Len() {
				found = walk(field.Index(j), inner) || found
			}
		}
	}
	return found
}
