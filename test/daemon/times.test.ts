import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const module = fileURLToPath(new URL('../../daemon/times.ts', import.meta.url))

/** What a process in the time zone `zone` makes of the nanoseconds. */
const inZone = (zone: string, ns: string): string =>
  execFileSync(
    process.execPath,
    ['--input-type=module', '-e', `import { rfc3339 } from '${module}'; process.stdout.write(rfc3339(${ns}n))`],
    { env: { ...process.env, TZ: zone } },
  ).toString()

t.test('nanoseconds, trailing zeros dropped, the local offset', async t => {
  t.equal(inZone('UTC', '1767323045678901234'), '2026-01-02T03:04:05.678901234Z')
  t.equal(inZone('UTC', '1767323045670000000'), '2026-01-02T03:04:05.67Z')
  t.equal(inZone('UTC', '1767323045000000000'), '2026-01-02T03:04:05Z')
  t.equal(inZone('UTC', '-1'), '1969-12-31T23:59:59.999999999Z', 'before the epoch')
  t.equal(inZone('Asia/Kolkata', '1767323045000000000'), '2026-01-02T08:34:05+05:30')
  t.equal(inZone('America/New_York', '1767323045500000000'), '2026-01-01T22:04:05.5-05:00')
})
