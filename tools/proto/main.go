// Command proto generates the Go code of .proto files into their folders. It is protoc
// and protoc-gen-go in one program, so that a clone needs only Go. It has a module of
// its own, so that users of Ribosome do not depend on its imports.
//
// Run it with make generate.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	gengo "google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	for _, path := range os.Args[1:] {
		if err := generate(context.Background(), path); err != nil {
			fmt.Fprintln(os.Stderr, "proto:", err)
			os.Exit(1)
		}
	}
}

// generate writes the Go code of one .proto file into the file's folder.
func generate(ctx context.Context, path string) error {
	request, err := compile(ctx, path)
	if err != nil {
		return err
	}
	plugin, err := protogen.Options{}.New(request)
	if err != nil {
		return err
	}
	for _, f := range plugin.Files {
		if f.Generate {
			gengo.GenerateFile(plugin, f)
		}
	}
	response := plugin.Response()
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, f := range response.File {
		out := filepath.Join(filepath.Dir(path), filepath.Base(f.GetName()))
		if err := os.WriteFile(out, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compile parses a file and its imports. Its name in descriptors, which must be unique
// in a program, is the folder of its package and its base name.
func compile(ctx context.Context, path string) (*pluginpb.CodeGeneratorRequest, error) {
	name := "ribosome/v1/" + filepath.Base(path)
	source := protocompile.ResolverFunc(func(p string) (protocompile.SearchResult, error) {
		if p != name {
			return protocompile.SearchResult{}, os.ErrNotExist
		}
		f, err := os.Open(path)
		return protocompile.SearchResult{Source: f}, err
	})
	c := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(source), SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := c.Compile(ctx, name)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{name}}
	request.ProtoFile = withImports(files[0], nil)
	return request, nil
}

// withImports appends the descriptors of a file and of its imports to to, each after
// its own imports.
func withImports(f protoreflect.FileDescriptor, to []*descriptorpb.FileDescriptorProto) []*descriptorpb.FileDescriptorProto {
	for i := range f.Imports().Len() {
		to = withImports(f.Imports().Get(i).FileDescriptor, to)
	}
	return append(to, protoutil.ProtoFromFileDescriptor(f))
}
