import t from 'tap'
import { createActorReader, audit } from '../../daemon/audit.ts'
import { requestOf } from '../support/call.ts'
import { jsonLog } from '../../shared/log.ts'
import type { Context } from '../../shared/route.ts'
import { parseWireNames, wireNames } from '../../shared/wire-names.ts'
import { daemon } from '../support/daemon.ts'

const names = wireNames(parseWireNames(undefined, 'names'))

t.test("the vendor's identity headers win over the plain ones, absent ones are empty", async t => {
  const actorOf = createActorReader(names)
  const headers = { 'X-Svc-Subject-Id': 'v', 'X-Subject-Id': 'p', 'X-Subject-Type': 'user' }
  const request = requestOf('GET', '/', { headers })
  t.same(actorOf(request), { subjectId: 'v', subjectType: 'user', authMethod: '' })
  t.same(actorOf(requestOf('GET', '/')), { subjectId: '', subjectType: '', authMethod: '' })
})

t.test('a line of the audit log is one line', async t => {
  const lines: string[] = []
  const log = jsonLog({ level: 'info', now: () => 0, write: line => void lines.push(line) })
  const context = { log, requestId: 'r', facts: { actor: { subjectId: 'a\nb' } } } as unknown as Context
  audit(context, 'process_exec', { command: 'echo "x"\nfake' })
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0] as string), {
    event: 'process_exec',
    source: 'audit',
    requestId: 'r',
    subjectId: 'a\nb',
    command: 'echo "x"\nfake',
  })
})

t.test('a line of the audit log is no longer than the box can bear', async t => {
  const lines: string[] = []
  const log = jsonLog({ level: 'info', now: () => 0, write: line => void lines.push(line) })
  const context = { log, requestId: 'r', facts: { actor: { subjectId: 'i'.repeat(5_000) } } } as unknown as Context
  audit(context, 'process_exec', { command: 'x'.repeat(1_000_000), workingDir: undefined })
  t.ok((lines[0] as string).length < 10_000)
  t.match(JSON.parse(lines[0] as string), { command: /^x{4096}… \(1000000 characters\)$/, subjectId: /5000/ })
})

t.test('the request log hides secrets and can be switched off', async t => {
  const lines: string[] = []
  const log = jsonLog({ level: 'info', now: () => 0, write: line => void lines.push(line) })
  const noisy = await daemon(t, { log })
  await noisy.call('GET', '/health?token=abc&svc_preview_token=def&x=1', { headers: { 'X-Request-Id': 'mine' } })
  const line = JSON.parse(lines.find(text => text.includes('request.done')) ?? '{}')
  t.match(line, { method: 'GET', route: 'system.health', status: 200, requestId: 'mine' })
  t.equal(line.path, '/health?token=[REDACTED]&svc_preview_token=[REDACTED]&x=1')
  await noisy.close()
  lines.length = 0
  const quiet = await daemon(t, { log, env: { DISABLE_REQUEST_LOGGING: 'true' } })
  await quiet.call('GET', '/health')
  t.notOk(lines.some(text => text.includes('request.done')))
})
