/** The main job through the real server, a real machine, the real base image. */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import WebSocket from 'ws'
import { once } from 'node:events'
import { whyNoMachines } from '../support/machine.ts'
import { traces } from '../support/oci.ts'
import { server } from '../support/server.ts'
import { until } from '../support/until.ts'
import { skipFile } from '../support/skip-file.ts'

/** The tree of the image busybox of this box. */
const busyboxTree = (): string => {
  const images = new URL('../../.runtime/images/', import.meta.url).pathname
  const { digest } = JSON.parse(readFileSync(join(images, 'names/busybox.json'), 'utf8')) as { digest: string }
  return join(images, 'trees', digest)
}

skipFile(whyNoMachines())

t.test('from nothing to code running in a sandbox, asleep, awake, gone, with a bill', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '1' })
  t.equal(statSync(join(s.dataDir, 'admin-key')).mode & 0o777, 0o600)
  await until(() => /admin key is in/.test(s.output()), 'the line that says where the key is')
  const startTime = new Date(Date.now() - 1000).toISOString()
  const made = await s.call('POST', '/v0/sandboxes', {
    metadata: { name: 'job', labels: { team: 'red' } },
    spec: {
      runtime: {
        image: 'svc/base-image:latest',
        memory: 1024,
        envs: [
          { name: 'GREETING', value: 'hello' },
          { name: 'NODE_OPTIONS', value: '--nonsense' },
          { name: 'LD_PRELOAD', value: '/nowhere.so' },
        ],
      },
    },
  })
  t.match(made, { status: 200, body: { status: 'DEPLOYING', metadata: { url: `${s.url}/default/sandboxes/job` } } })
  const { url } = made.body.metadata

  await t.test('the address works the moment create returns', async t => {
    t.match(await s.call('GET', `${url}/health`), { status: 200, body: { status: 'ok', os: 'linux' } })
  })

  await t.test('commands run, as root of their own machine only', async t => {
    const run = async (command: string) =>
      (
        await s.call('POST', `${url}/process`, {
          command,
          waitForCompletion: true,
          env: { LD_PRELOAD: '', NODE_OPTIONS: '' },
        })
      ).body
    t.equal((await run('id -u; hostname; echo $GREETING $SVC_NAME')).stdout, '0\njob\nhello job\n')
    t.match(
      (await run('python3 -V; git --version; node -v; curl --version | head -1')).logs,
      /Python 3[\s\S]*git version[\s\S]*v24[\s\S]*curl/,
    )
    t.match(await run('cat /proc/1/environ'), { status: 'failed' }, 'the daemon is out of reach')
    t.match((await run('kill -9 1; sleep 0.2; echo alive')).logs, /alive/)
    t.match(await run('iptables -L 2>&1 || /.hutch/bin/iptables -L'), { status: 'failed' })
    t.match(await run('mount -t tmpfs none /mnt'), { status: 'failed' })
    t.match(await run('echo x > /.hutch/daemon/main.js'), { status: 'failed' })
    t.match(await run(`cat ${s.dataDir}/admin-key`), { status: 'failed' })
  })

  await t.test('output streams back while it is written', async t => {
    const answer = await fetch(`${url}/process`, {
      method: 'POST',
      headers: { authorization: `Bearer ${s.key}`, accept: 'text/event-stream' },
      body: JSON.stringify({
        command: 'for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 3',
        env: { LD_PRELOAD: '', NODE_OPTIONS: '' },
      }),
    })
    t.match(answer.headers.get('content-type'), /application\/x-ndjson/)
    const events = (await answer.text())
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    t.equal(
      events
        .filter(({ type }) => type === 'stdout')
        .map(({ data }) => data)
        .join(''),
      'line 1\nline 2\nline 3\n',
    )
    t.match(JSON.parse(events.at(-1).data), { status: 'failed', exitCode: 3 })
  })

  await t.test('files go in and out byte for byte', async t => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251))
    const form = new FormData()
    form.append('file', new Blob([bytes]), 'x.bin')
    const authorization = `Bearer ${s.key}`
    t.equal(
      (await fetch(`${url}/filesystem//srv/x.bin`, { method: 'PUT', body: form, headers: { authorization } })).status,
      200,
    )
    const back = await fetch(`${url}/filesystem/%2Fsrv%2Fx.bin?download=true`, { headers: { authorization } })
    t.same(Buffer.from(await back.arrayBuffer()), bytes)
    t.match(await s.call('GET', `${url}/filesystem/..%2F..%2Fetc%2Fshadow%00`), { status: 400 })
  })

  await t.test('a port in it answers, a terminal too', async t => {
    const { status } = await s.call('POST', `${url}/process`, {
      command: 'cd /srv && exec python3 -m http.server 3000',
      name: 'web',
      waitForPorts: [3000],
      timeout: 60,
      env: { LD_PRELOAD: '' },
    })
    t.equal(status, 200)
    t.match(await s.call('GET', `${url}/port/3000/`), { status: 200, text: /x\.bin/ })
    const socket = new WebSocket(`${url.replace('http', 'ws')}/terminal/ws?token=${s.key}&shell=/bin/sh`)
    await once(socket, 'open')
    let seen = ''
    socket.on('message', data => (seen += JSON.parse(String(data)).data))
    socket.send(JSON.stringify({ type: 'input', data: 'echo term-$((40+2))\r' }))
    while (!seen.includes('term-42')) await once(socket, 'message')
    socket.close()
    t.pass('the terminal answered')
  })

  await t.test(
    'a preview shows a port to everybody; a session opens the API to its token, but for what is the owner’s',
    async t => {
      const previews = '/v0/sandboxes/job/previews'
      const made = await s.call('POST', previews, { metadata: { name: 'app' }, spec: { port: 3000, public: true } })
      t.match(await (await fetch(`${made.body.spec.url}/`)).text(), /x\.bin/)
      const session = await s.call('POST', previews, { metadata: { name: 'session-1' }, spec: { port: 443 } })
      const { token } = (await s.call('POST', `${previews}/session-1/tokens`, { metadata: { name: 'me' } })).body.spec
      const call = async (method: string, path: string, body?: object) => {
        const headers = { 'x-svc-preview-token': token as string, 'content-type': 'application/json' }
        const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }
        const answer = await fetch(`${session.body.spec.url}${path}`, init)
        return { status: answer.status, text: await answer.text() }
      }
      t.equal((await fetch(`${session.body.spec.url}/health`)).status, 401)
      t.match(await call('GET', '/health'), { status: 200, text: /"ok"/ })
      t.match(await call('GET', '/swagger/index.html'), { status: 404 }, 'no page from inside')
      const command = { command: 'echo from-session', waitForCompletion: true, env: { LD_PRELOAD: '' } }
      t.match(await call('POST', '/process', command), { status: 200, text: /from-session/ })
      for (const [method, path] of [
        ['PUT', '/network/tunnel/config'],
        ['DELETE', '/network/tunnel'],
        ['POST', '/upgrade'],
        ['POST', '/drives/mount'],
        ['GET', '/drives/mount'],
        ['PUT', '/host/configuration'],
        ['PUT', '/network%2Ftunnel%2Fconfig'],
      ] as const)
        t.equal((await call(method, path, method === 'GET' ? undefined : {})).status, 403, `${method} ${path}`)
    },
  )

  await t.test('it sleeps when nobody calls and wakes on the next byte', async t => {
    await s.until('job', body => body.state === 'STANDBY')
    t.match(await s.call('GET', `${url}/process/web`), { status: 200, body: { status: 'running' } })
    t.equal((await s.call('GET', '/v0/sandboxes/job')).body.state, 'RUNNING')
  })

  await t.test('a keep-alive process keeps it awake', async t => {
    await s.call('POST', `${url}/process`, {
      command: 'sleep 4; touch /srv/done',
      keepAlive: true,
      timeout: 0,
      name: 'work',
      env: { LD_PRELOAD: '' },
    })
    for (let i = 0; i < 600 && (await s.call('GET', `${url}/filesystem//srv/done`)).status !== 200; i++)
      await new Promise(resolve => setTimeout(resolve, 2000))
    const work = (await s.call('GET', `${url}/process/work`)).body
    const took = Date.parse(work.completedAt) - Date.parse(work.startedAt)
    t.ok(took < 60_000, 'its clock ran on')
    await s.until('job', body => body.state === 'STANDBY')
  })

  await t.test('the server restarts: what ran runs on', async t => {
    t.equal(await s.stop(), 0)
    await s.start()
    const again = (await s.call('GET', '/v0/sandboxes/job')).body.metadata.url
    t.match(await s.call('GET', `${again}/process/web`), { status: 200, body: { status: 'running' } })
    t.match(await s.call('GET', `${again}/port/3000/`), { status: 200, text: /x\.bin/ })
  })

  await t.test('restarted, it has its files and its address, and nothing that ran', async t => {
    const { url } = (await s.call('GET', '/v0/sandboxes/job')).body.metadata
    await s.call('PUT', `${url}/filesystem//srv/kept`, { content: 'kept' })
    const { status, body } = await s.call('POST', '/v0/sandboxes/job/restart')
    t.match({ status, body }, { status: 200, body: { status: 'DEPLOYING', metadata: { url } } })
    t.match(await s.call('GET', `${url}/filesystem//srv/kept`), { status: 200, body: { content: 'kept' } })
    t.not((await s.call('GET', `${url}/process/web`)).body.status, 'running')
    await s.until('job', ({ status }) => status === 'DEPLOYED')
    t.equal((await s.call('POST', '/v0/sandboxes/none/restart')).status, 404)
  })

  await t.test(
    'an image that is removed under a sandbox is noticed, and its workspace goes with its machine',
    async t => {
      const images = join(s.dataDir, 'images')
      const [digest, tree] = ['d'.repeat(32), busyboxTree()]
      const own = join(images, 'trees', digest)
      cpSync(tree, own, { recursive: true, verbatimSymlinks: true })
      writeFileSync(join(images, 'names', 'throwaway.json'), JSON.stringify({ digest }))
      await s.call('POST', '/v0/workspaces', { name: 'team' })
      const team = { 'x-svc-workspace': 'team' }
      const spec = { runtime: { image: 'throwaway', memory: 256 } }
      const made = await s.call('POST', '/v0/sandboxes', { metadata: { name: 'poor' }, spec }, team)
      t.match(made, { status: 200, body: { metadata: { workspace: 'team' } } })
      const file = `${made.body.metadata.url}/filesystem//root/kept`
      t.match(await s.call('PUT', file, { content: 'kept' }), { status: 200 })
      rmSync(own, { recursive: true })
      const noticed = await s.until('poor', ({ errors = [] }) => errors.length > 0, team)
      t.match(noticed, { status: 'DEPLOYED', errors: [{ code: 'ROOT_GONE', fatal: false }] })
      const next = 'e'.repeat(32)
      cpSync(tree, join(images, 'trees', next), { recursive: true, verbatimSymlinks: true })
      writeFileSync(join(images, 'names', 'throwaway.json'), JSON.stringify({ digest: next }))
      t.match(await s.call('POST', '/v0/sandboxes/poor/restart', {}, team), { status: 200 })
      t.match(await s.call('GET', file), { status: 200, body: { content: 'kept' } })
      const machines = () => readdirSync(join(s.dataDir, 'machines')).length
      t.equal(machines(), 2)
      t.match(await s.call('DELETE', '/v0/workspaces/team'), { status: 200, body: { name: 'team' } })
      t.equal((await s.call('GET', file)).status, 404)
      await until(async () => machines() === 1, 'its machine to go')
    },
  )

  await t.test('deleted, nothing is left but the bill', async t => {
    t.match(await s.call('DELETE', '/v0/sandboxes/job'), { status: 200, body: { status: 'DELETING' } })
    await s.until('job', body => body.status === 'TERMINATED')
    const [account] = (await s.call('GET', '/v0/accounts')).body
    const endTime = new Date(Date.now() + 1000).toISOString()
    const { body } = await s.call(
      'GET',
      `/v0/accounts/${account.id}/metrics?startTime=${startTime}&endTime=${endTime}&groupBy=billing_dimension`,
    )
    const usage = Object.fromEntries(
      body.data.map((entry: { billingDimension: string; summary: { usage: number } }) => [
        entry.billingDimension,
        entry.summary.usage,
      ]),
    )
    t.ok(usage.sandbox_compute_runtime_gbs > 4, 'at least the four seconds of the keep-alive process at 1 GB')
    t.ok(usage.sandbox_snapshot_storage_gbs > 0)
    t.ok(body.summary.totalCost > 0)
    t.equal(await s.stop(), 0)
    t.same(traces(s.names), [])
  })
})
