import t from 'tap'
import { addMissing, parseEnvFile } from '../../../daemon/config/env-file.ts'

const parse = (text: string) => parseEnvFile(Buffer.from(text))

t.test('pairs are separated by NUL, so values may hold anything else', async t => {
  t.same(parse('A\x001\0B\0x=y\nz\0').variables, { A: '1', B: 'x=y\nz' })
  t.same(parse('A\x001').variables, { A: '1' }, 'the last NUL may be missing')
  t.same(parse('A\x001\0A\x002\0').variables, { A: '2' }, 'the last duplicate wins')
  t.same(parse('A\0\0').variables, { A: '' }, 'a value may be empty')
})

t.test('nameless pairs and a key without value are dropped, a bad name costs only itself', async t => {
  t.same(parse('\0x\0A\x001\0B').variables, { A: '1' })
  t.match(parse('A=B\0x\0C\x001\0'), { variables: { C: '1' }, rejected: ['A=B'], empty: false })
})

t.test('content without a pair is an error, no content is not', async t => {
  t.equal(parse('nonsense').empty, true)
  t.equal(parse('').empty, false)
})

t.test('a variable that is set, even to nothing, is kept', async t => {
  t.same(addMissing({ A: '', B: 'b' }, { A: 'x', C: 'c' }), { A: '', B: 'b', C: 'c' })
})
