import DefaultTheme from 'vitepress/theme-without-fonts'
// oxlint-disable-next-line import/no-unassigned-import
import './site.css'

export default DefaultTheme
