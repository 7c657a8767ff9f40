"""The retail warehouse of MQM97 section 2, at any size: what `viewkeeper demo` builds."""
