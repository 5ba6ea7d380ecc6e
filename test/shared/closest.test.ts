import t from 'tap'
import { closest } from '../../shared/closest.ts'

t.test('the word that was meant, if one is near', async t => {
  const known = ['HUTCH_PORT', 'HUTCH_HOST', 'HUTCH_DATA_DIR']
  t.equal(closest('HUTCH_PROT', known), 'HUTCH_PORT')
  t.equal(closest('HUTCH_DATADIR', known), 'HUTCH_DATA_DIR')
  t.equal(closest('HUTCH_HOTS', known), 'HUTCH_HOST')
  t.equal(closest('SOMETHING', known), undefined)
  t.equal(closest('x', ['y', 'zz']), 'y')
  t.equal(closest('x', []), undefined)
})
