/** Section 1.11: ports of a process, and waiting for them. */
import type { Test } from 'tap'
import { ask, fresh, started, type Target } from './target.ts'

/** Listens on every address with what the image has. */
const serverOn = (port: number): string => `exec python3 -m http.server ${port}`

export const network = async (t: Test, target: Target): Promise<void> => {
  await t.test('waiting for a port, and the ports of a process', async t => {
    const port = 20_000 + (process.pid % 10_000)
    const name = fresh('web')
    const request = { command: serverOn(port), name, waitForPorts: [port], timeout: 60, workingDir: target.scratch }
    const { status, body } = await started(t, target, request)
    t.equal(status, 200)
    const { body: found } = await ask(target, 'GET', `/network/process/${body.pid}/ports`)
    t.equal(found.pid, Number(body.pid))
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
    const monitor = `/network/process/${body.pid}/monitor`
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
