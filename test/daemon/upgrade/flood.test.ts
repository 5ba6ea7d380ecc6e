/** The real program replaces itself while many write and many ask: not a byte is lost, and nobody is refused. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../../support/processes.ts'
import { upgradable } from '../../support/releases.ts'

t.test('100 processes write while it is replaced twice, and nobody who connects is refused', async t => {
  const daemon = await upgradable(t, undefined, { SANDBOX_MAX_LOG_FILE_BYTES: '0' })
  const go = join(daemon.dir, 'go')
  writeFileSync(go, '')
  const names = Array.from({ length: 100 }, (_, index) => `count-${index}`)
  // At full speed until the disk has had enough of it. They yield to the daemon: this is about bytes, not the processor.
  const command = `renice 19 $$ >/dev/null; i=0; while [ -e ${go} ]; do i=$((i+1)); echo $i
    [ $i -gt 5000 ] && [ $((i % 100)) = 0 ] && sleep 0.5; done; echo last $i >&2; exit 3`
  for (const name of names) t.equal((await daemon.ask('POST', '/process', { name, command })).status, 200)

  const answers: (number | string | undefined)[] = []
  let over = false
  const asking = (async () => {
    while (!over) {
      const answer = await daemon.ask('GET', '/process/count-7').catch((error: NodeJS.ErrnoException) => error)
      answers.push('status' in answer ? answer.status : answer.code)
    }
  })()
  for (const [index, version] of ['two', 'one'].entries())
    t.match(await daemon.upgrade(version), { upgradeCount: index + 1, lastUpgrade: { status: 'completed', version } })
  over = true
  await asking
  t.same(
    answers.filter(answer => answer !== 200 && answer !== 'ECONNRESET'),
    [],
    'who connects waits until somebody answers',
  )
  t.ok(answers.filter(answer => answer === 'ECONNRESET').length <= 2, 'one that takes more than a moment is cut')
  t.ok(answers.includes(200))

  rmSync(go)
  for (const name of names) {
    const body = await until(`the end of ${name}`, async () => {
      const { body } = await daemon.ask('GET', `/process/${name}`)
      return body.status !== 'running' && body
    })
    const last = Number(/last (\d+)/.exec(body.stderr)?.[1])
    const whole = (await daemon.ask('GET', `/process/${name}/logs/stream?stream=stdout&cursor=0`)).body
    const lines = String(whole).split('\n')
    const wrong = lines.findIndex((line, index) => line !== (index < last ? String(index + 1) : ''))
    t.match(
      { ...body, wrong, lines: lines.length },
      { exitCode: 3, status: 'failed', wrong: -1, lines: last + 1 },
      name,
    )
  }
})
