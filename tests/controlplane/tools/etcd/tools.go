//go:build tools

// Package tools pins the etcd that the control-plane tests build.
package tools

import _ "go.etcd.io/etcd/server/v3"
