/** Section 1.11: ports of a process, and waiting for them. */
import type { Test } from 'tap'
import { ask, fresh, started, type Target } from './target.ts'

/** Listens on every address with what the image has. */
const serverOn = (port: number): string => `exec python3 -m http.server ${port}`

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
