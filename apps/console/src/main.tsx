import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { applyTheme } from './shell/theme.js';
import './styles/tokens.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/parts.css';
import './styles/screens.css';

applyTheme();
const place = document.getElementById('console');
if (place === null) throw new Error('the page has no place for the console');
createRoot(place).render(<App />);
