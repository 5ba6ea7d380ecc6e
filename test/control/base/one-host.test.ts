import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { claimDataDir } from '../../../control/base/one-host.ts'

t.test('one holder at a time, free again after close', async t => {
  const dir = t.testdir()
  const claim = await claimDataDir(dir)
  await t.rejects(claimDataDir(dir), { code: 'busy', status: 503 })
  const other = await claimDataDir(`${dir}/other`)
  await other.release()
  await claim.release()
  const again = await claimDataDir(dir)
  await again.release()
})

t.test('a holder that is killed leaves nothing behind', async t => {
  const dir = t.testdir()
  const module = new URL('../../../control/base/one-host.ts', import.meta.url).href
  const script = `const { claimDataDir } = await import('${module}'); await claimDataDir(process.argv[1]); console.log('held'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  await t.rejects(claimDataDir(dir), { code: 'busy' })
  child.kill('SIGKILL')
  await once(child, 'exit')
  const claim = await claimDataDir(dir)
  await claim.release()
})
