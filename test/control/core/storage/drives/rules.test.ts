/** Which mount the rules of a drive allow to whom. */
import t from 'tap'
import { allowed, labelsOf, type Rule } from '../../../../../control/core/storage/drives/rules.ts'

const wanted = { driveName: 'd', mountPath: '/m', drivePath: '/', readOnly: false, uidMap: '', gidMap: '' }
const rule = (labels: Record<string, string>, more: Partial<Rule> = {}): Rule => ({
  labels,
  mode: 'read-write',
  path: '/',
  ...more,
})
const refused = (reason: RegExp) => ({ code: 'forbidden', message: reason })

t.test('the first rule that matches decides; no rule is everybody, none that matches is nobody', async t => {
  const team = { team: 'a', tier: 'free' }
  t.same(allowed({}, {}, wanted), wanted)
  t.same(allowed({ permissions: [] }, {}, wanted), wanted)
  t.throws(() => allowed({ permissions: [rule({ team: 'b' })] }, team, wanted), refused(/no rule matches/))
  t.throws(
    () => allowed({ permissions: [rule({ team: 'a', tier: 'paid' })] }, team, wanted),
    refused(/no rule/),
    'all labels of a rule have to match',
  )
  t.throws(() => allowed({ permissions: [rule({ toString: '' })] }, {}, wanted), refused(/no rule/))
  t.same(allowed({ permissions: [rule({})] }, {}, wanted), wanted, 'a rule without labels is everybody')
  const permissions = [rule({ team: 'a' }, { mode: 'read' }), rule({})]
  t.same(allowed({ permissions }, team, wanted), { ...wanted, readOnly: true })
  t.same(allowed({ permissions }, { team: 'b' }, wanted), wanted)
})

t.test('a rule reaches its path and what is below, and nothing beside it', async t => {
  const at = (drivePath: string, path: string) =>
    allowed({ permissions: [rule({}, { path })] }, {}, { ...wanted, drivePath })
  t.same(at('/a/b', '/a').drivePath, '/a/b')
  t.same(at('/a', '/a').drivePath, '/a')
  t.same(at('/a/b', '/a/').drivePath, '/a/b')
  for (const [asked, path] of [
    ['/', '/a'],
    ['/ab', '/a'],
    ['/b', '/a'],
  ] as const)
    t.throws(() => at(asked, path), refused(/may mount \/a and below/), asked)
})

t.test('what a workload is, none of its own labels says', async t => {
  const owner = { uid: 'u', kind: 'sandbox', workspace: 'w', parent: '', name: 'n' }
  const metadata = { createdBy: '', updatedBy: '', labels: { team: 'a', 'svc-name': 'another' } }
  t.same(labelsOf(owner, { metadata }, ['svc']), {
    team: 'a',
    'svc-workspace': 'w',
    'svc-type': 'sandbox',
    'svc-name': 'n',
  })
})
