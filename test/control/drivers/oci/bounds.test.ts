import { spawnSync } from 'node:child_process'
import t from 'tap'
import { datagramTable } from '../../../../control/drivers/oci/probe/bounds.ts'
import { carryOut } from '../../../../control/drivers/oci/probe/check.ts'
import { systemClock } from '../../../../shared/clock.ts'

const context = { word: 'bounds', scratch: '/nonexistent', clock: systemClock() }

t.test('the doctor asks the table of connections as the server does, and names the module', async t => {
  const refused = () => {
    throw new Error("the kernel's table of connections: EINVAL")
  }
  const found = await carryOut(datagramTable(refused), context)
  t.equal(found.ok, false)
  t.equal(found.required, false)
  t.match(found.next, /nf_conntrack_netlink/)
  t.equal(
    (
      await carryOut(
        datagramTable(() => undefined),
        context,
      )
    ).ok,
    true,
  )
})

t.test('tables that are low are named where they cannot be raised', { skip: process.getuid?.() !== 0 }, async t => {
  const file = '/proc/sys/fs/aio-max-nr'
  const dir = t.testdir({ low: '65536\n' })
  const module = new URL('../../../../control/drivers/oci/shared-limits.ts', import.meta.url).href
  const print = `import(${JSON.stringify(module)}).then(async m => console.log(JSON.stringify(await m.lowLimits())))`
  const lowIn = (mount: string): string[] => {
    const script = `mount --bind ${dir}/low ${file} && ${mount} exec "$0" -e '${print}'`
    const { stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', script, process.execPath], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    })
    t.not(stdout, '', stderr)
    return (JSON.parse(stdout) as string[]).filter(line => line.startsWith(file))
  }
  t.match(lowIn(`mount -o remount,bind,ro ${file} &&`), [/write 1099511627776 to it/])
  t.same(lowIn(''), [], 'a server raises it')
})
