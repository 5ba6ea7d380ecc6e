/** Projects to begin with, whose files are served here: they run in a sandbox of the base image without the internet. */
import type { Entry } from '../catalogues.ts'

/** Text by path. */
type Files = Readonly<Record<string, string>>

export interface Template {
  readonly entry: Entry<'templates'>
  readonly files: Files
}

const python = `import http.server
import os


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"hello from Python at {self.path}\\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


port = int(os.environ.get("PORT", "3000"))
http.server.ThreadingHTTPServer(("0.0.0.0", port), Handler).serve_forever()
`

const node = `import { createServer } from 'node:http'

const port = Number(process.env.PORT ?? 3000)
createServer((request, response) => {
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  response.end(\`hello from Node at \${request.url}\\n\`)
}).listen(port, '0.0.0.0')
`

const job = `"""One task of a job: its index and its arguments are in the environment."""
import json
import os

index = int(os.environ.get("TASK_INDEX", "0"))
print(json.dumps({"index": index, "square": index * index}))
`

/** Where its files are fetched. */
export const sourcePath = (name: string): string => `/v0/templates/${name}/source`

const template = (entry: Omit<Entry<'templates'>, 'url'>, files: Files): Template => ({
  entry: { ...entry, url: sourcePath(entry.name) },
  files,
})

export const templates: readonly Template[] = [
  template(
    {
      name: 'python-web',
      description: 'An HTTP server in Python, without anything to install: python3 app.py',
      topics: ['http', 'python'],
    },
    { 'app.py': python, 'README.md': '# python-web\n\n    python3 app.py    # on port 3000, or $PORT\n' },
  ),
  template(
    {
      name: 'node-web',
      description: 'An HTTP server in Node.js, without anything to install: node app.js',
      topics: ['http', 'node'],
    },
    {
      'app.js': node,
      'package.json': `${JSON.stringify({ name: 'node-web', private: true, type: 'module', scripts: { start: 'node app.js' } }, null, 2)}\n`,
      'README.md': '# node-web\n\n    node app.js       # on port 3000, or $PORT\n',
    },
  ),
  template(
    {
      name: 'python-task',
      description: 'One task in Python that reads its index from the environment: python3 task.py',
      topics: ['tasks', 'python'],
    },
    { 'task.py': job, 'README.md': '# python-task\n\n    TASK_INDEX=4 python3 task.py\n' },
  ),
]
