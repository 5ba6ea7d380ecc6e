/** From a folder to an answer, with plain curl: what a person does first. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { server } from '../support/server.ts'

const app = `
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
names = {}
class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        said = self.rfile.read(int(self.headers['content-length'] or 0)).decode()
        thread = self.headers['x-svc-thread-id']
        if said.startswith('I am '):
            names[thread] = said[5:]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(names.get(thread, 'nobody').encode())
HTTPServer((os.environ['HOST'], int(os.environ['PORT'])), Agent).serve_forever()
`

t.test('a zip is uploaded, built, deployed, called, and still there after a crash', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '1' })
  const folder = join(t.testdir({}), 'agent')
  mkdirSync(folder)
  writeFileSync(join(folder, 'main.py'), app)
  writeFileSync(join(folder, 'requirements.txt'), '')
  execFileSync('python3', ['-m', 'zipfile', '-c', '../app.zip', 'main.py', 'requirements.txt'], { cwd: folder })
  const curl = (...args: string[]) => execFileSync('curl', ['-sS', ...args], { encoding: 'utf8' })
  const bearer = ['-H', `Authorization: Bearer ${s.key}`]
  const body = JSON.stringify({ metadata: { name: 'ada' }, spec: { runtime: { memory: 512 } } })
  const head = curl('-D', '-', '-o', '/dev/null', ...bearer, '-d', body, `${s.url}/v0/agents?upload=true`)
  const url = /^x-svc-upload-url: (\S+)/im.exec(head)?.[1] ?? ''
  t.equal(curl('-o', '/dev/null', '-w', '%{http_code}', '-T', join(folder, '../app.zip'), url), '200')
  const reached = async (status: string) => {
    for (const end = performance.now() + 300_000; ; ) {
      const { body } = await s.call('GET', '/v0/agents/ada')
      if (body.status === status) return
      if (body.status === 'FAILED' || performance.now() > end) throw new Error(JSON.stringify(body.events))
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
  await reached('DEPLOYED')
  const call = (said: string) => curl(...bearer, '-H', 'X-Svc-Thread-Id: t', '-d', said, `${s.url}/default/agents/ada`)
  call('I am Ada')
  t.equal(call('who am I?'), 'Ada')
  await new Promise(resolve => setTimeout(resolve, 2_500))
  t.equal(call('who am I?'), 'Ada', 'woken')
  await s.kill()
  await s.start()
  t.equal(call('who am I?'), 'Ada', 'after a crash of the server')
})
