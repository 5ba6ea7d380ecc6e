// The rival that most daemons in Go are: net/http as it comes, a file as JSON or as bytes, which end in sendfile; a body into a
// file; a command with its output.
// Arguments: port to listen on, the directory that is served; on loopback.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

type file struct {
	Path         string    `json:"path"`
	Name         string    `json:"name"`
	Permissions  string    `json:"permissions"`
	Size         int64     `json:"size"`
	LastModified time.Time `json:"lastModified"`
	Content      string    `json:"content"`
}

func read(path string, response http.ResponseWriter, request *http.Request) error {
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	defer opened.Close()
	stat, err := opened.Stat()
	if err != nil {
		return err
	}
	if request.URL.Query().Get("download") == "true" {
		http.ServeContent(response, request, stat.Name(), stat.ModTime(), opened)
		return nil
	}
	content, err := io.ReadAll(opened)
	if err != nil {
		return err
	}
	body, err := json.Marshal(file{path, stat.Name(), stat.Mode().String(), stat.Size(), stat.ModTime(), string(content)})
	if err != nil {
		return err
	}
	response.Header().Set("Content-Type", "application/json; charset=utf-8")
	response.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, err = response.Write(body)
	return err
}

// The whole body, or the one file of a form, into the file.
func write(path string, request *http.Request) error {
	var from io.Reader = request.Body
	if reader, err := request.MultipartReader(); err == nil {
		part, err := reader.NextPart()
		if err != nil {
			return err
		}
		from = part
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(file, from)
	return err
}

func run(response http.ResponseWriter, request *http.Request) {
	var asked struct {
		Command string `json:"command"`
	}
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	command := exec.Command("/bin/sh", "-c", asked.Command)
	output, _ := command.CombinedOutput()
	response.Header().Set("Content-Type", "application/json; charset=utf-8")
	json.NewEncoder(response).Encode(map[string]any{"exitCode": command.ProcessState.ExitCode(), "logs": string(output)})
}

func main() {
	http.HandleFunc("/filesystem/", func(response http.ResponseWriter, request *http.Request) {
		path := filepath.Join(os.Args[2], strings.TrimPrefix(request.URL.Path, "/filesystem/"))
		if request.Method == http.MethodPut {
			if err := write(path, request); err != nil {
				http.Error(response, err.Error(), http.StatusInternalServerError)
			}
			return
		}
		if err := read(path, response, request); err != nil {
			http.Error(response, err.Error(), http.StatusNotFound)
		}
	})
	http.HandleFunc("/process", run)
	http.HandleFunc("/process/idle/logs/stream", func(response http.ResponseWriter, request *http.Request) {
		response.WriteHeader(http.StatusOK)
		response.(http.Flusher).Flush()
		<-request.Context().Done()
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
