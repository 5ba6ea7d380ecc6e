import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { guardEnvironment } from '../../../shared/guarded-env.ts'
import { gatherEnvironment } from '../../../daemon/config/sources.ts'
import { silentLog, type Log } from '../../../shared/log.ts'

const recording = (): { log: Log; events: string[] } => {
  const events: string[] = []
  const note = (event: string) => void events.push(event)
  return { events, log: { ...silentLog, warn: note, error: note } }
}

t.test("the process's variables win over .env, both over the platform's file", async t => {
  const dir = t.testdir({
    '.env': 'A=dotenv\nB=dotenv\nHUTCH_RELEASES_URL=http://evil\nSANDBOX_LOG_DIR=/etc\nSVC_NAME=x\n',
    file: 'A\0file\0C\0x=1\n\0',
  })
  chmodSync(join(dir, '.env'), 0o644)
  const env = gatherEnvironment({ A: '', SVC_ENV_VAR_PATH: join(dir, 'file') }, dir, silentLog)
  t.same(env, { A: '', B: 'dotenv', C: 'x=1\n', SVC_ENV_VAR_PATH: join(dir, 'file') })
})

t.test('broken files are logged and stop nothing', async t => {
  const dir = t.testdir({ '.env': {}, bad: 'nonsense', mixed: 'X=Y\x001\0D\x001\0' })
  const { log, events } = recording()
  t.same(gatherEnvironment({ SVC_ENV_VAR_PATH: join(dir, 'none') }, dir, log), { SVC_ENV_VAR_PATH: join(dir, 'none') })
  t.same(events.splice(0), ['environment.unreadable', 'environment.file-missing'])
  gatherEnvironment({ SVC_ENV_VAR_PATH: join(dir, 'bad') }, join(dir, 'nowhere'), log)
  t.same(events.splice(0), ['environment.file-empty'])
  t.match(gatherEnvironment({ SVC_ENV_VAR_PATH: join(dir, 'mixed') }, join(dir, 'nowhere'), log), { D: '1' })
  t.same(events, ['environment.names-rejected'])
})

t.test('what the host has packed is unpacked; its own switches stay', async t => {
  const given = { LD_PRELOAD: '/evil.so', WORKDIR: '/app' }
  const env = gatherEnvironment(guardEnvironment({ ...given, HUTCH_WIRE_NAMES: 'Svc' }), t.testdir(), silentLog)
  t.same(env, { ...given, HUTCH_WIRE_NAMES: 'Svc' })
})

t.test('.env counts only when nobody else could have written it', async t => {
  const dir = t.testdir({ '.env': 'A=1\n' })
  chmodSync(join(dir, '.env'), 0o644)
  t.match(gatherEnvironment({}, dir, silentLog), { A: '1' })
  const { log, events } = recording()
  chmodSync(join(dir, '.env'), 0o666)
  t.same(gatherEnvironment({}, dir, log), {})
  t.same(events, ['environment.untrusted'])
})
