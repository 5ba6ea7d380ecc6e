/** Every build that differed. */
import './earlier-builds.test.ts'
