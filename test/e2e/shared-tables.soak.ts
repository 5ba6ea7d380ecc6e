/** A thousand users of gVisor, too. */
import './shared-tables.test.ts'
