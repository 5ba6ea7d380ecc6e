import t from 'tap'
import { policyChange } from '../../../../control/network/egress/events/policy-change.ts'
import { parseEgressPolicy } from '../../../../shared/policy/policy.ts'

const change = (before: object, after: object) => policyChange(parseEgressPolicy(before), parseEgressPolicy(after))

t.test('what a new policy opens is named', async t => {
  for (const [before, after, text] of [
    [{ allowedDomains: ['a.com', 'b.com'] }, {}, 'all is allowed that was not: only a.com b.com was'],
    [{ forbiddenDomains: ['a.com', 'b.com'] }, { forbiddenDomains: ['b.com'] }, 'no longer forbidden: a.com'],
    [{ allowedDomains: ['a.com'] }, { allowedDomains: ['a.com', 'b.com'] }, 'allowed besides: b.com'],
    [{}, { bypass: ['.corp'] }, 'bypassed besides: .corp'],
    [{ mode: 'enforce' }, { mode: 'shadow' }, 'mode shadow: nothing is stopped'],
  ] as const)
    t.same(change(before, after), { opens: true, text })
})

t.test('what it closes, too', async t => {
  for (const [before, after, text] of [
    [{}, { allowedDomains: ['a.com'] }, 'only these are allowed: a.com'],
    [{ allowedDomains: ['a.com', 'b.com'] }, { allowedDomains: ['a.com'] }, 'no longer allowed: b.com'],
    [{}, { forbiddenDomains: ['a.com'] }, 'forbidden besides: a.com'],
    [{ mode: 'record' }, {}, 'mode enforce'],
  ] as const)
    t.same(change(before, after), { opens: false, text })
})

t.test('rules are named by where they go, their secrets by nothing', async t => {
  const rule = { destinations: ['a.com', 'b.com'], secrets: { k: 'hush' } }
  t.same(change({}, { routing: [rule] }), { opens: false, text: 'rules besides: a.com|b.com' })
  t.equal(change({ routing: [rule] }, { routing: [{ ...rule, secrets: { k: 'other' } }] }), undefined)
})
