/** Sections 1.13 and 1.14 as far as they go without a provider and without drives. */
import type { Test } from 'tap'
import { ask, fresh, type Target } from './target.ts'

export const codegen = async (t: Test, target: Target): Promise<void> => {
  await t.test('without a provider both say so', async t => {
    const off = { status: 400, body: { error: /codegen tools are not configured/ } }
    t.match(await ask(target, 'PUT', '/codegen/fastapply/x.ts', { body: { codeEdit: 'x' } }), off)
    t.match(await ask(target, 'GET', '/codegen/reranking/src?query=x'), off)
  })
}

export const drives = async (t: Test, target: Target): Promise<void> => {
  const mount = (body: unknown) => ask(target, 'POST', '/drives/mount', { body })
  const mountPath = `/mnt/${fresh('drive')}`

  await t.test('nothing is mounted', async t => {
    t.match(await ask(target, 'GET', '/drives/mount'), { status: 200, body: { mounts: [] } })
  })

  await t.test('what is refused', async t => {
    const bad: readonly unknown[] = [
      undefined,
      {},
      { driveName: 'd' },
      { driveName: '-d', mountPath },
      { driveName: 'a/b', mountPath },
      { driveName: 'd'.repeat(129), mountPath },
      { driveName: 'd', mountPath: '' },
      { driveName: 'd', mountPath: '/a/../b' },
      { driveName: 'd', mountPath: `/${'x'.repeat(512)}` },
      { driveName: 'd', mountPath, drivePath: 'relative' },
    ]
    for (const body of bad) t.match(await mount(body), { status: 400, body: { error: String } }, JSON.stringify(body))
    t.ok((await mount({ driveName: 'd', mountPath, uidMap: 'x' })).status >= 400)
    const gone = await ask(target, 'DELETE', `/drives/mount/${encodeURIComponent(mountPath.slice(1))}`)
    t.match(gone.body, { error: String }, 'nothing is mounted there')
    t.ok(gone.status >= 400)
  })
}
