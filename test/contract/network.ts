/** Section 1.11: ports of a process, and waiting for them. */
import type { Test } from 'tap'
import { ask, fresh, run, started, until, type Target } from './target.ts'

/** Listens on every address with what the image has. */
const serverOn = (port: number): string => `exec python3 -m http.server ${port}`

/** Answers POST and writes each body to a file, one to a line. */
const callbacks = (port: number, file: string): string => `exec python3 -c '
from http.server import BaseHTTPRequestHandler, HTTPServer
class Sink(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        open("${file}", "ab").write(body + b"\\n")
        self.send_response(200)
        self.end_headers()
HTTPServer(("0.0.0.0", ${port}), Sink).serve_forever()
'`

/** Ports that a process is to open, one for each file that appears; nobody else should have them. */
const portsFrom = (count: number): number[] => {
  const first = 30_000 + (process.pid % 2_000)
  return Array.from({ length: count }, (_, index) => first + index * 37)
}

/** A process that serves a port; on a machine with others the first one tried may be somebody's. */
const serving = async (t: Test, target: Target): Promise<{ port: number; pid: string }> => {
  for (let attempt = 0; ; attempt++) {
    const port = 20_000 + ((process.pid + attempt * 997) % 10_000)
    const request = { command: serverOn(port), name: fresh('web'), waitForPorts: [port], timeout: 60 }
    const { status, text, body } = await started(t, target, { ...request, workingDir: target.scratch })
    if (status === 200) return { port, pid: body.pid }
    if (attempt === 4) throw new Error(`no port can be served: ${text}`)
  }
}

export const network = async (t: Test, target: Target): Promise<void> => {
  await t.test('waiting for a port, and the ports of a process', async t => {
    const { port, pid } = await serving(t, target)
    const { body: found } = await ask(target, 'GET', `/network/process/${pid}/ports`)
    t.equal(found.pid, Number(pid))
    t.match(
      found.ports.find((entry: { localPort: number }) => entry.localPort === port),
      {
        pid: Number,
        protocol: 'tcp',
        localAddr: String,
        localPort: port,
        remotePort: 0,
        state: 'LISTEN',
        processName: String,
      },
    )
    const monitor = `/network/process/${pid}/monitor`
    t.match(await ask(target, 'POST', monitor, { body: { callback: '' } }), {
      status: 200,
      body: { path: '', message: /started/ },
    })
    t.match(await ask(target, 'DELETE', monitor), { status: 200, body: { message: /stopped/ } })
    t.match(await ask(target, 'DELETE', monitor), { status: 200 }, 'also when there is none')
  })

  await t.test('a monitor posts the ports that a process opens, until it is stopped', async t => {
    const [sink = 0, one = 0, two = 0] = portsFrom(3)
    const dir = `${target.scratch}/${fresh('monitor')}`
    await run(target, `mkdir -p ${dir}`)
    const waiting = { name: fresh('sink'), waitForPorts: [sink], timeout: 60 }
    t.equal((await started(t, target, { command: callbacks(sink, `${dir}/told`), ...waiting })).status, 200)
    const opens = (port: number) =>
      `until [ -e ${dir}/${port} ]; do sleep 0.1; done; (cd ${dir}; exec python3 -m http.server ${port}) &`
    const { body } = await started(t, target, { command: `${opens(one)} ${opens(two)} wait`, name: fresh('opens') })
    const told = async (): Promise<string> => (await run(target, `cat ${dir}/told 2>/dev/null || true`)).stdout
    const open = async (port: number) => {
      await run(target, `touch ${dir}/${port}`)
      await until(`port ${port}`, async () => {
        const { ports } = (await ask(target, 'GET', `/network/process/${body.pid}/ports`)).body
        return ports.some(({ localPort }: { localPort: number }) => localPort === port)
      })
    }
    const monitor = `/network/process/${body.pid}/monitor`
    await ask(target, 'POST', monitor, { body: { callback: `http://127.0.0.1:${sink}/` } })
    await open(one)
    t.same(JSON.parse(await until('the callback', async () => (await told()) || undefined)), {
      pid: Number(body.pid),
      port: one,
    })
    t.equal((await ask(target, 'DELETE', monitor)).status, 200)
    await open(two)
    await new Promise(resolve => setTimeout(resolve, 1_500))
    t.notMatch(await told(), String(two), 'nobody is told any more')
  })

  await t.test('a port that nobody serves is 422, in time and when the process ends', async t => {
    const late = await started(t, target, { command: 'sleep 300', name: fresh('late'), waitForPorts: [1], timeout: 1 })
    t.match(late, { status: 422, body: { error: /timed out/ } })
    const over = await started(t, target, { command: 'true', name: fresh('over'), waitForPorts: [1] })
    t.equal(over.status, 422)
  })

  await t.test('pids', async t => {
    t.match(await ask(target, 'GET', '/network/process/x/ports'), { status: 400, body: { error: /invalid PID/ } })
    t.match(await ask(target, 'GET', '/network/process/999999999/ports'), { status: 200, body: { ports: [] } })
    t.equal((await ask(target, 'POST', '/network/process/x/monitor', { body: { callback: '' } })).status, 400)
  })
}
