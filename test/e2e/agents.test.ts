/** Agents, functions and applications through the real server: from an image to an answer that plain curl gets. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { whyNoMachines } from '../support/machine.ts'
import { server } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const source = readFileSync(new URL('../programs/agent.mjs', import.meta.url), 'utf8')
const entrypoint = ['node', '--input-type=module', '-e', source]
const s = await server(t, { HUTCH_STANDBY_SECONDS: '1', HUTCH_STARTUP_SECONDS: '10', HUTCH_LOG_LEVEL: 'info' })

const run = promisify(execFile)
/** What curl prints: the body, then the status. */
const curl = async (...args: string[]): Promise<{ status: number; text: string }> => {
  const { stdout } = await run('curl', ['-sS', '-w', '\n%{http_code}', ...args])
  const cut = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(cut + 1)), text: stdout.slice(0, cut) }
}
const bearer = ['-H', `Authorization: Bearer ${s.key}`]

/** Polls a record until it has the status. */
const until = async (path: string, wanted: string) => {
  for (const end = performance.now() + 60_000; ; ) {
    const { body } = await s.call('GET', `/v0/${path}`)
    if (body.status === wanted) return body
    if (performance.now() > end) throw new Error(`${path} is ${JSON.stringify(body)}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

t.test('an agent from an image is deployed and answers plain curl, by path and by host', async t => {
  const made = await s.call('POST', '/v0/agents', {
    metadata: { name: 'ada' },
    spec: { runtime: { image: 'base', memory: 512, entrypoint } },
  })
  t.match(made, { status: 200, body: { status: 'DEPLOYING', metadata: { url: `${s.url}/default/agents/ada` } } })
  const { url } = made.body.metadata
  // Held until it is up.
  t.match(await curl(...bearer, `${url}/a/b?c=1`, '-d', '{"inputs":"hi"}'), {
    status: 200,
    text: /"url":"\/a\/b\?c=1"/,
  })
  const deployed = await until('agents/ada', 'DEPLOYED')
  const [revision] = (await s.call('GET', '/v0/agents/ada/revisions')).body
  t.match(revision, { active: true, trafficPercent: 100, status: 'DEPLOYED' })
  t.match(
    deployed.events.map(({ status }: { status: string }) => status),
    ['DEPLOYING', 'DEPLOYED'],
  )
  t.equal(deployed.events.at(-1).revision, revision.id)
  const { host } = new URL(s.url)
  const byHost = `agt-ada-default.local.localhost:${host.split(':')[1]}`
  t.match(await curl(...bearer, '--resolve', `${byHost}:127.0.0.1`, `http://${byHost}/x`), {
    status: 200,
    text: /"url":"\/x"/,
  })
  const thread = [...bearer, '-H', 'X-Svc-Thread-Id: t1']
  await curl(...thread, url, '-d', 'I am Ada')
  t.equal((await curl(...thread, url, '-d', 'who am I?')).text, 'Ada')
})

t.test('a call needs a key that reaches the workspace, unless the agent is public', async t => {
  const url = `${s.url}/default/agents/ada`
  t.match(await curl(url), { status: 401, text: /AUTHENTICATION_REQUIRED/ })
  t.match(await curl('-H', 'Authorization: Bearer nope', url), { status: 401, text: /AUTHENTICATION_FAILED/ })
  t.match(await curl(...bearer, `${s.url}/default/agents/none`), { status: 404, text: /WORKLOAD_NOT_FOUND/ })
  const { text } = await curl('-H', `X-Svc-Authorization: Bearer ${s.key}`, '-H', 'Authorization: Basic b3du', url)
  const { headers } = JSON.parse(text)
  t.equal(headers.authorization, 'Basic b3du', 'its own passes')
  t.notOk(JSON.stringify(headers).includes(s.key), 'ours does not')
  t.match(headers, { 'x-svc-subject-type': 'user', 'x-svc-auth-method': 'api_key', 'x-request-id': /./ })
  const spec = { public: true, runtime: { image: 'base', memory: 512, entrypoint } }
  await s.call('POST', '/v0/agents', { metadata: { name: 'open' }, spec })
  t.match(await curl(`${s.url}/default/agents/open/x`), { status: 200, text: /"url":"\/x"/ })
  const sent = await curl(...bearer, `${s.url}/default/agents/open/x`)
  t.notOk(sent.text.includes(s.key), 'a key that was sent needlessly goes no further')
})

t.test('bytes, statuses and streams pass as they are', async t => {
  const url = `${s.url}/default/agents/ada`
  const bytes = randomBytes(3_000_000)
  const authorization = `Bearer ${s.key}`
  const answer = await fetch(`${url}/bytes`, { method: 'PUT', headers: { authorization }, body: bytes })
  t.match(answer, { status: 201, statusText: 'Made' })
  t.equal(answer.headers.get('x-own'), 'a')
  t.equal(answer.headers.get('x-svc-source'), null, 'what says that the platform answered is not its own to say')
  t.ok(Buffer.from(await answer.arrayBuffer()).equals(bytes))
  const stream = await fetch(`${url}/stream?n=5&ms=100`, { headers: { authorization } })
  const arrivals: number[] = []
  let text = ''
  for await (const piece of stream.body as ReadableStream<Uint8Array>) {
    arrivals.push(performance.now())
    text += Buffer.from(piece)
  }
  t.match(text, /^data: 0\n\n[^]*data: 4\n\ndata: \[DONE\]\n\n$/)
  t.ok((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0) > 300, 'as it is written')
})

t.test('it is told where it runs, and where to listen', async t => {
  const env = JSON.parse((await curl(...bearer, `${s.url}/default/agents/ada/env`)).text)
  t.match(env, {
    HOST: '0.0.0.0',
    PORT: '80',
    SVC_NAME: 'ada',
    SVC_WORKSPACE: 'default',
    SVC_TYPE: 'agent',
    SVC_REGION: 'local',
    SVC_CLOUD: 'true',
    SVC_ENABLE_OPENTELEMETRY: 'false',
    DO_NOT_TRACK: '1',
  })
  t.notOk(Object.keys(env).some(name => name.startsWith('HUTCH_')))
})

t.test('one that does not listen is FAILED, with its last words', async t => {
  const spec = (entrypoint: string) => ({ runtime: { image: 'base', memory: 256, entrypoint } })
  await s.call('POST', '/v0/agents', { metadata: { name: 'mute' }, spec: spec('echo no port for me; exit 3') })
  const mute = await until('agents/mute', 'FAILED')
  t.match(mute.events.at(-1).message, /^STARTUP TCP probe failed.*port 80.*exit code 3\n[^]*no port for me/)
  t.match(await curl(...bearer, `${s.url}/default/agents/mute`), { status: 404, text: /WORKLOAD_UNAVAILABLE/ })
  await s.call('POST', '/v0/agents', { metadata: { name: 'late' }, spec: spec('echo waiting; sleep 1000') })
  const late = await until('agents/late', 'FAILED')
  t.match(late.events.at(-1).message, /not within 10 s \(DEADLINE_EXCEEDED\)\nwaiting/)
  await s.call('POST', '/v0/agents', { metadata: { name: 'bare' }, spec: {} })
  t.match((await until('agents/bare', 'FAILED')).events.at(-1).message, /give an image, or upload/)
})

t.test('idle, it is frozen and costs nothing; the next call wakes it', async t => {
  const url = `${s.url}/default/agents/ada`
  const thread = [...bearer, '-H', 'X-Svc-Thread-Id: t2']
  await curl(...thread, url, '-d', 'I am Bob')
  const usage = async () => (await s.call('GET', '/v0/agents/ada/usage')).body.cpuMs
  await new Promise(resolve => setTimeout(resolve, 2_500))
  const before = await usage()
  await new Promise(resolve => setTimeout(resolve, 1_000))
  t.equal(await usage(), before, 'it stands still')
  t.equal((await curl(...thread, url, '-d', 'who am I?')).text, 'Bob')
})

t.test('disabled or deleted, it stops answering at once', async t => {
  const url = `${s.url}/default/agents/ada`
  const spec = { enabled: false, runtime: { image: 'base', memory: 512, entrypoint } }
  t.match(await s.call('PUT', '/v0/agents/ada', { metadata: { name: 'ada' }, spec }), {
    status: 200,
    body: { status: 'DEACTIVATING' },
  })
  t.match(await curl(...bearer, url), { status: 404, text: /WORKLOAD_UNAVAILABLE[^]*DEACTIVAT/ })
  await until('agents/ada', 'DEACTIVATED')
  await s.call('PUT', '/v0/agents/ada', { metadata: { name: 'ada' }, spec: { ...spec, enabled: true } })
  await until('agents/ada', 'DEPLOYED')
  t.match(await curl(...bearer, url), { status: 200 })
  t.match(await s.call('DELETE', '/v0/agents/ada'), { status: 200, body: { status: 'DELETING' } })
  t.match(await curl(...bearer, url), { status: 404, text: /WORKLOAD_NOT_FOUND/ })
  t.equal((await s.call('GET', '/v0/agents/ada')).status, 404)
})
