/** Every moment of a create, a delete and a first start. */
import './crash.test.ts'
